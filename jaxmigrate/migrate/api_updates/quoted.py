"""Old names in annotations that stand in quotes: plain renames go on there, too."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jaxmigrate.migrate.api_updates.renames import keeps_its_name
from jaxmigrate.migrate.api_updates.rewrite_context import RewriteContext
from jaxmigrate.program.modules import Module
from jaxmigrate.program.old_names import OldName, row_of
from jaxmigrate.program.old_uses import is_guarded
from jaxmigrate.program.operations import Replace, code
from jaxmigrate.program.unknown_names import jax_import


class QuotedName(NamedTuple):
    """A name within a string: the string, where in it the name begins, the name as it is written, and its row."""

    string: ast.Constant
    at: int
    written: str
    row: OldName


def quoted_names(module: Module) -> Iterator[QuotedName]:
    """The old names of JAX that have plain new ones, in the quoted annotations of a module."""
    if "jax" not in module.text:
        return
    for string in _quoted_annotations(module.table.parents):
        try:
            tree = ast.parse(str(string.value), mode="eval")
        except SyntaxError:
            continue
        for written, at in _chains(tree.body):
            row = _row(written, module)
            if row is not None and row.how == "rename":
                yield QuotedName(string, at, written, row)


def _quoted_annotations(nodes: Iterable[ast.AST]) -> Iterator[ast.Constant]:
    for node in nodes:
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            yield from _strings(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            yield from _strings(node.returns)


def _strings(annotation: ast.expr) -> Iterator[ast.Constant]:
    """The strings of an annotation that are types; those of a `Literal` and the rest of an `Annotated` are not."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        yield annotation
    elif isinstance(annotation, ast.Subscript):
        kind = ast.unparse(annotation.value).rpartition(".")[2]
        inner = annotation.slice
        if kind == "Annotated" and isinstance(inner, ast.Tuple):
            inner = inner.elts[0]
        if kind != "Literal":
            yield from _strings(inner)
    elif isinstance(annotation, ast.Tuple | ast.List | ast.BinOp):
        for child in ast.iter_child_nodes(annotation):
            if isinstance(child, ast.expr):
                yield from _strings(child)


def _chains(tree: ast.expr) -> Iterator[tuple[str, int]]:
    """The dotted names of an expression on one line, and where they begin."""
    inner = {node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and node not in inner and node.lineno == node.end_lineno == 1:
            written = ast.unparse(node)
            if node.end_col_offset == node.col_offset + len(written):
                yield written, node.col_offset


def _row(written: str, module: Module) -> OldName | None:
    root, _, rest = written.partition(".")
    bindings = module.table.root.bindings.get(root, [])
    if len(bindings) != 1 or is_guarded(bindings[0].node, module):
        return None
    owner = jax_import(bindings[0], module)
    found = row_of(f"{owner}.{rest}" if rest else owner) if owner else None
    return found[0] if found is not None and not found[1] else None


def rename_quoted(desk: RewriteContext) -> None:
    """Renames what is old in the quoted annotations of a file; what stays keeps its import."""
    by_string: dict[ast.Constant, list[QuotedName]] = {}
    for found in quoted_names(desk.module):
        by_string.setdefault(found.string, []).append(found)
    for string, names in by_string.items():
        value, source = str(string.value), desk.module.segment(string)
        simple = source in (f"'{value}'", f'"{value}"') and value.isascii() and "$" not in value
        for _, at, written, row in sorted(names, key=lambda one: -one.at):
            if "." not in written and keeps_its_name(written, desk):
                continue
            if desk.keeps(string, row):
                desk.in_quotes.add(written.partition(".")[0])
                continue
            text = desk.name_of(row.replacement, string) if simple and row.holds_for(desk.target) else None
            if text is not None:
                value = value[:at] + text + value[at + len(written) :]
                desk.done(string, row)
                continue
            desk.in_quotes.add(written.partition(".")[0])
            if "." in written:
                desk.leave(string, row)
        if value != string.value:
            desk.operations.append(Replace(string, code(f"{source[0]}{value}{source[0]}")))
