"""Import statements rewritten name by name, each where it stands."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from jaxmigrate.migrate.edits import Edit
from jaxmigrate.migrate.neighbours.desk import Desk
from jaxmigrate.program.old_uses import Statement

DROPPED = ""


def rewrite_statement(desk: Desk, statement: Statement, changed: Mapping[ast.alias, str]) -> bool:
    """Replaces some names of an import statement by whole statements, or drops those that map to DROPPED.

    False where that cannot be done: the statement is all that its block has.
    """
    kept = [alias for alias in statement.names if alias not in changed]
    new = _joined(dict.fromkeys(text for text in changed.values() if text))
    lines = [*([_without(statement, kept)] if kept else []), *new]
    start, end = desk.positions.span(statement)
    if lines:
        if kept and not new and _is_plain(desk, statement):
            desk.edits += _drops(desk, statement, set(changed))
            return True
        desk.edits.append(Edit(start, end, _separator(desk, statement).join(lines)))
        return True
    return _drop_statement(desk, statement)


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


def _drops(desk: Desk, statement: Statement, dropped: set[ast.alias]) -> list[Edit]:
    """Cuts names out of a statement of which others stay, each with the comma beside it."""
    spans = {alias: desk.positions.span(alias) for alias in statement.names}
    names = list(statement.names)
    edits: list[Edit] = []
    for index, alias in enumerate(names):
        if alias not in dropped:
            continue
        later = [other for other in names[index + 1 :] if other not in dropped]
        if later:
            edits.append(Edit(spans[alias][0], spans[names[index + 1]][0], ""))
        else:
            last_kept = next(other for other in reversed(names[:index]) if other not in dropped)
            edits.append(Edit(spans[last_kept][1], spans[names[-1]][1], ""))
            break
    return edits


def _separator(desk: Desk, statement: Statement) -> str:
    """What stands between two statements where one stood: a line of its own, or a semicolon in a line of several."""
    start, end = desk.positions.span(statement)
    line_start, _ = desk.positions.line_span(statement.lineno)
    before = desk.module.text[line_start:start]
    _, line_end = desk.positions.line_span(statement.end_lineno or statement.lineno)
    after = desk.module.text[end:line_end].strip()
    if before.strip() or after.startswith(";"):
        return "; "
    newline = "\r\n" if "\r\n" in desk.module.text else "\n"
    return newline + before


def _drop_statement(desk: Desk, statement: Statement) -> bool:
    parent = desk.module.table.parents.get(statement, desk.module.tree)
    bodies = [getattr(parent, name, None) for name in ("body", "orelse", "finalbody")]
    alone = not any(isinstance(body, list) and statement in body and len(body) > 1 for body in bodies)
    start, end = desk.positions.span(statement)
    if alone and not isinstance(parent, ast.Module):
        desk.edits.append(Edit(start, end, "pass"))
        return True
    line_start, _ = desk.positions.line_span(statement.lineno)
    _, line_end = desk.positions.line_span(statement.end_lineno or statement.lineno)
    whole = not desk.module.text[line_start:start].strip() and not desk.module.text[end:line_end].strip()
    if whole:
        desk.edits.append(Edit(line_start, line_end, ""))
        return True
    text = desk.module.text
    after = text[end:line_end]
    if after.lstrip().startswith(";"):
        cut = end + after.index(";") + 1
        desk.edits.append(Edit(start, cut + (len(text[cut:line_end]) - len(text[cut:line_end].lstrip(" "))), ""))
        return True
    desk.edits.append(Edit(start, end, "pass"))
    return True
