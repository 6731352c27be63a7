"""Import statements rewritten name by name, each where it stands."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from jaxmigrate.migrate.edits import Edit
from jaxmigrate.migrate.imports import cut_names
from jaxmigrate.migrate.neighbours.desk import Desk
from jaxmigrate.migrate.style import newline_of
from jaxmigrate.program.old_uses import Statement


def rewrite_statement(desk: Desk, statement: Statement, changed: Mapping[ast.alias, str]) -> None:
    """Replaces some names of an import statement by whole statements, or drops those that map to nothing."""
    kept = [alias for alias in statement.names if alias not in changed]
    new = _joined(dict.fromkeys(text for text in changed.values() if text))
    lines = [*([_without(statement, kept)] if kept else []), *new]
    start, end = desk.positions.span(statement)
    if kept and not new and _is_plain(desk, statement):
        desk.edits += cut_names(statement, set(changed), desk.positions)
    elif lines:
        desk.edits.append(Edit(start, end, _separator(desk, statement).join(lines)))
    else:
        _drop_statement(desk, statement)


def _joined(statements: Iterable[str]) -> list[str]:
    """Imports of one name each, those from one module together."""
    found: dict[str, list[str]] = {}
    for text in statements:
        source, _, name = text.rpartition("import ")
        found.setdefault(source or text, []).append(name)
    return [
        f"{source}import {', '.join(names)}" if source.startswith("from ") else source
        for source, names in found.items()
    ]


def _without(statement: Statement, kept: list[ast.alias]) -> str:
    names = ", ".join(_alias(alias) for alias in kept)
    if isinstance(statement, ast.ImportFrom):
        return f"from {'.' * statement.level}{statement.module or ''} import {names}"
    return f"import {names}"


def _alias(alias: ast.alias) -> str:
    return alias.name if alias.asname is None else f"{alias.name} as {alias.asname}"


def _is_plain(desk: Desk, statement: Statement) -> bool:
    """Whether a statement's names can be cut out of it: no comments between them."""
    start, end = desk.positions.span(statement)
    return "#" not in desk.module.text[start:end]


def _separator(desk: Desk, statement: Statement) -> str:
    """What stands between two statements where one stood: a line of its own, or a semicolon in a line of several."""
    start, end = desk.positions.span(statement)
    line_start, _ = desk.positions.line_span(statement.lineno)
    before = desk.module.text[line_start:start]
    _, line_end = desk.positions.line_span(statement.end_lineno or statement.lineno)
    after = desk.module.text[end:line_end].strip()
    if before.strip() or after.startswith(";"):
        return "; "
    return newline_of(desk.module.text) + before


def _drop_statement(desk: Desk, statement: Statement) -> None:
    """Takes a statement out with its line; `pass` stands in where it is all that its block, or its line, has."""
    parent = desk.module.table.parents.get(statement, desk.module.tree)
    alone = len(desk.module.table.block_of(statement)) < 2
    start, end = desk.positions.span(statement)
    line_start, _ = desk.positions.line_span(statement.lineno)
    _, line_end = desk.positions.line_span(statement.end_lineno or statement.lineno)
    before, after = desk.module.text[line_start:start], desk.module.text[end:line_end]
    if alone and not isinstance(parent, ast.Module):
        desk.edits.append(Edit(start, end, "pass"))
    elif not before.strip() and not after.strip():
        desk.edits.append(Edit(line_start, line_end, ""))
    elif after.lstrip().startswith(";"):
        rest = after[after.index(";") + 1 :]
        desk.edits.append(Edit(start, line_end - len(rest.lstrip(" ")), ""))
    else:
        desk.edits.append(Edit(start, end, "pass"))
