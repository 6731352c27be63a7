"""Applies the fixes of findings to a file, by the engine and with the operations of a migration."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from jaxmigrate.codemod.apply import rewritten
from jaxmigrate.findings.fixes import Edit, Fix, Span, span_in_cell
from jaxmigrate.flow.fixes import span
from jaxmigrate.migrate.style import style_of
from jaxmigrate.program.modules import Module, parse_module
from jaxmigrate.program.operations import (
    ITSELF,
    Code,
    DropStatement,
    Import,
    Operation,
    Redecorate,
    Replace,
    SetKeyword,
)
from jaxmigrate.sources.containers import Container

_Node = TypeVar("_Node", bound=ast.AST)
_FAILED = "could not be applied; please report it"
_CONFLICT = "conflicts with another fix in the same place"


class Fixed(NamedTuple):
    """A text after some fixes: which it has, and which are left, each with the reason.

    What is neither waits for another round, since it meets one that was made.
    """

    text: str
    made: list[Fix]
    left: dict[Fix, str]


def fixed(module: Module, fixes: Sequence[Fix], notebook: Container | None = None) -> Fixed:
    """The text of a module after all of its fixes that agree with one another and leave a text that parses.

    Those of a notebook have the places of its cells.
    """
    nodes = _nodes(module, notebook)
    wanted = list(dict.fromkeys(fixes))
    left = dict.fromkeys((one for one in wanted if any(_contradict(one, other) for other in wanted)), _CONFLICT)
    chosen: list[Fix] = []
    for fix in wanted:
        if fix not in left and not any(_clash(fix, other) for other in chosen):
            chosen.append(fix)
    text = _applied(module, chosen, nodes)
    if text is None:
        left |= {fix: _FAILED for fix in chosen if _applied(module, [fix], nodes) is None}
        chosen = [fix for fix in chosen if fix not in left]
        text = _applied(module, chosen, nodes)
        if text is None:
            return Fixed(module.text, [], left | dict.fromkeys(chosen, _FAILED))
    return Fixed(text, chosen, left)


def _applied(module: Module, fixes: Sequence[Fix], nodes: Mapping[Span, ast.AST]) -> str | None:
    """The text after some fixes; None where that cannot be had, or does not parse."""
    if not fixes:
        return module.text
    edits = dict.fromkeys(edit for fix in fixes for edit in fix.edits)
    try:
        text = rewritten(module.text, _operations(edits, nodes), style_of(module))
        parse_module(module.path, text, newer=True)
    except Exception:  # noqa: BLE001 - a fault of ours is to cost one fix, and no file
        return None
    return text


def _operations(edits: Sequence[Edit] | Mapping[Edit, None], nodes: Mapping[Span, ast.AST]) -> list[Operation]:
    imports: dict[str, list[ast.AST]] = {}
    found: list[Operation] = []
    for edit in edits:
        if edit.operation == "import":
            imports.setdefault(edit.code, []).append(nodes[edit.at])
        else:
            found.append(_operation(edit, nodes))
    return [*found, *(_import(statement, uses) for statement, uses in imports.items())]


def _operation(edit: Edit, nodes: Mapping[Span, ast.AST]) -> Operation:
    node = nodes[edit.at]
    parts = {name: _of_kind(ast.expr, nodes[part]) for name, part in edit.parts}
    match edit.operation:
        case "replace":
            return Replace(_of_kind(ast.expr, node), Code(edit.code, parts))
        case "set-keyword":
            return SetKeyword(_of_kind(ast.Call, node), edit.name, Code(edit.code))
        case "drop-statement":
            return DropStatement(_of_kind(ast.stmt, node), commented=True)
        case "decorate":
            codes = tuple(Code(line, parts if f"${ITSELF}" in line else {}) for line in edit.code.split("\n"))
            return Redecorate(_of_kind(ast.FunctionDef, node), parts[ITSELF], codes)
    raise LookupError(f"there is no operation {edit.operation!r}")


def _of_kind(kind: type[_Node], node: ast.AST) -> _Node:
    if not isinstance(node, kind):
        raise LookupError(f"found {type(node).__name__} where {kind.__name__} was to stand")
    return node


def _import(statement: str, uses: Sequence[ast.AST]) -> Import:
    parsed = ast.parse(statement).body[0]
    assert isinstance(parsed, ast.ImportFrom)
    return Import(parsed.module or "", parsed.names[0].name, "", tuple(uses))


def _nodes(module: Module, notebook: Container | None) -> dict[Span, ast.AST]:
    """The nodes of a module by the places that findings give them."""
    found = {span(node, module): node for node in module.nodes if isinstance(node, ast.expr | ast.stmt)}
    if notebook is None:
        return dict(found)
    return {span_in_cell(place, notebook): node for place, node in found.items()}


def _contradict(one: Fix, other: Fix) -> bool:
    """Whether two fixes give different answers to one question: then neither is the right one."""
    return any(_overlap(a, b) for a in one.edits for b in other.edits if a != b and a.at == b.at)


def _clash(one: Fix, other: Fix) -> bool:
    return any(_overlap(a, b) for a in one.edits for b in other.edits if a != b)


def _overlap(one: Edit, other: Edit) -> bool:
    """Whether two edits want the same text to be different things; what stays within new code may change in itself."""
    if "import" in (one.operation, other.operation) or not _meet(one.at, other.at):
        return False
    if one.operation == other.operation == "set-keyword" and one.at == other.at:
        return one.name == other.name
    return not any(_within(a.at, kept) for a, b in ((one, other), (other, one)) for kept in _kept(b))


def _kept(edit: Edit) -> Iterator[Span]:
    """What of the file an edit keeps."""
    yield from (part for _, part in edit.parts)
    if edit.operation == "set-keyword" or (edit.operation == "replace" and f"${ITSELF}" in edit.code):
        yield edit.at


def _meet(one: Span, other: Span) -> bool:
    return one.cell == other.cell and _start(one) < _end(other) and _start(other) < _end(one)


def _within(inner: Span, outer: Span) -> bool:
    return _start(outer) <= _start(inner) and _end(inner) <= _end(outer)


def _start(one: Span) -> tuple[int, int]:
    return one.line, one.column


def _end(one: Span) -> tuple[int, int]:
    return one.end_line, one.end_column
