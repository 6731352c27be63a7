"""What a rewrite leaves without a use: imports, counts of devices and small functions that only the old form needed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from jaxmigrate.migrate.edits import Edit, Positions, apply_edits
from jaxmigrate.migrate.imports import drop_alias
from jaxmigrate.program.modules import Module, parse_module
from jaxmigrate.program.scopes import Scope

MOST_ROUNDS = 16


def without_leftovers(before: Module, after: str, kept: frozenset[str]) -> str:
    """The text after a rewrite without what it alone left unused; `kept` are names that other modules import.

    What nobody used before stays, and so does what a string or `__all__` names.
    """
    used = _loaded(before) - kept
    for _ in range(MOST_ROUNDS):
        module = parse_module(Path("after.py"), after)
        if before.is_package:
            return after
        unused = _written(used - _loaded(module), after) - _quoted(module)
        edits = next(_leftovers(module, unused), None) if unused else None
        if edits is None:
            return after
        after = apply_edits(after, edits)
    return after


def _loaded(module: Module) -> set[str]:
    """The names that a module reads."""
    return {n.id for n in module.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _written(names: set[str], text: str) -> set[str]:
    """Those of some names that a text may bind: a letter that is no ASCII can stand for one that is."""
    return {name for name in names if name in text} if text.isascii() else names


def _quoted(module: Module) -> set[str]:
    return {n.value for n in module.nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def _leftovers(module: Module, unused: set[str]) -> Iterator[list[Edit]]:
    """The edits that drop each thing that is bound to an unused name, one thing at a time."""
    positions = Positions(module.text)
    for scope in {id(s): s for s in module.table.own_scope.values()}.values():
        for name in sorted(unused & set(scope.bindings)):
            bindings = scope.bindings[name]
            if len(bindings) == 1 and name not in scope.outer_names and scope.kind != "class":
                edits = _dropped(bindings[0].node, scope, name, module, positions)
                if edits:
                    yield edits


def _dropped(node: ast.AST, scope: Scope, name: str, module: Module, positions: Positions) -> list[Edit]:
    if isinstance(node, ast.alias):
        return _unused_import(node, module, positions)
    inside = scope.kind == "function"
    if isinstance(node, ast.FunctionDef) and (inside or name.startswith("_")):
        return _unused_statement(node, module, positions)
    if isinstance(node, ast.Assign) and inside and _counts(node):
        return _unused_statement(node, module, positions)
    return []


def _counts(node: ast.Assign) -> bool:
    """Whether an assignment holds the number of devices: nothing is lost with it."""
    text = ast.unparse(node.value)
    return len(node.targets) == 1 and text.endswith(("device_count()", "devices()", "devices())")) and "=" not in text


def _unused_import(alias: ast.alias, module: Module, positions: Positions) -> list[Edit]:
    for statement in module.tree.body:
        if isinstance(statement, ast.ImportFrom) and alias in statement.names:
            return drop_alias(statement, alias, module, positions) if statement.module != "__future__" else []
        if isinstance(statement, ast.Import) and statement.names == [alias] and "." not in alias.name:
            return _unused_statement(statement, module, positions)
    return []


def _unused_statement(node: ast.stmt, module: Module, positions: Positions) -> list[Edit]:
    """Drops a statement that stands on lines of its own beside others, with the blank lines that follow it."""
    alone = len(module.table.block_of(node)) < 2
    start, _ = positions.line_span(node.lineno)
    _, end = positions.line_span(node.end_lineno or node.lineno)
    whole = module.text[start:end].strip()
    if (
        alone
        or getattr(node, "decorator_list", [])
        or whole != (ast.get_source_segment(module.text, node) or "").strip()
    ):
        return []
    return [Edit(start, _past_blank_lines(module.text, start, end), "")]


def _past_blank_lines(text: str, start: int, end: int) -> int:
    """Blank lines after a dropped statement go with it where there are some before it."""
    newline = "\r\n" if "\r\n" in text else "\n"
    while text[:start].endswith(newline * 2) and text[end:].startswith(newline):
        end += len(newline)
    return end
