"""Edits of one call's arguments: named, renamed, dropped, added, with all else as it stands."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxmigrate.migrate.edits import Edit
from jaxmigrate.migrate.neighbours.desk import Desk
from jaxmigrate.migrate.style import newline_of


def is_open(call: ast.Call) -> bool:
    """Whether a star hides which arguments are given."""
    return any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)


def given(call: ast.Call, name: str, position: int | None = None) -> ast.expr | None:
    """The argument given under a keyword or at a position."""
    found = next((k.value for k in call.keywords if k.arg == name), None)
    if found is None and position is not None and position < len(call.args):
        return call.args[position]
    return found


def name_positions(desk: Desk, call: ast.Call, names: Sequence[str], first: int) -> None:
    """Writes the keywords before positional arguments, those from `first` on; an empty name leaves one alone."""
    for argument, name in zip(call.args[first:], names, strict=False):
        if name:
            start, _ = desk.positions.span(argument)
            desk.edits.append(Edit(start, start, f"{name}="))


def drop_name(desk: Desk, call: ast.Call, keyword: str) -> None:
    """Makes an argument given by a keyword one given by its place."""
    for one in call.keywords:
        if one.arg == keyword:
            desk.edits.append(Edit(desk.positions.span(one)[0], desk.positions.span(one.value)[0], ""))


def rename_keyword(desk: Desk, call: ast.Call, old: str, new: str) -> None:
    """Gives a keyword another name."""
    for keyword in call.keywords:
        if keyword.arg == old:
            start, _ = desk.positions.span(keyword)
            desk.edits.append(Edit(start, start + len(old), new))


def set_value(desk: Desk, call: ast.Call, keyword: str, text: str) -> None:
    """Puts another expression in the place of a keyword's."""
    for one in call.keywords:
        if one.arg == keyword:
            desk.edits.append(Edit(*desk.positions.span(one.value), text))


def drop_keyword(desk: Desk, call: ast.Call, name: str) -> None:
    """Takes an argument out with the comma beside it."""
    keyword = next(k for k in call.keywords if k.arg == name)
    arguments = ordered(call)
    index = arguments.index(keyword)
    start, end = desk.positions.span(keyword)
    if index + 1 < len(arguments):
        desk.edits.append(Edit(start, desk.positions.span(arguments[index + 1])[0], ""))
    elif index > 0:
        desk.edits.append(Edit(desk.positions.span(arguments[index - 1])[1], end, ""))
    else:
        desk.edits.append(Edit(start, end, ""))


def add_keyword(desk: Desk, call: ast.Call, text: str) -> None:
    """Adds an argument behind the last one."""
    arguments = ordered(call)
    if not arguments:
        _, end = desk.positions.span(call)
        desk.edits.append(Edit(end - 1, end - 1, text))
        return
    _, end = desk.positions.span(arguments[-1])
    end = _past_parentheses(desk.module.text, end, desk.positions.span(call)[1])
    desk.edits.append(Edit(end, end, f",{_space_before(desk, arguments[-1])}{text}"))


def _space_before(desk: Desk, argument: ast.expr | ast.keyword) -> str:
    """A space, or a new line with the indentation of an argument that stands on a line of its own."""
    start, _ = desk.positions.span(argument)
    line_start, _ = desk.positions.line_span(argument.lineno)
    indent = desk.module.text[line_start:start]
    return " " if indent.strip() or not indent else newline_of(desk.module.text) + indent


def ordered(call: ast.Call) -> list[ast.expr | ast.keyword]:
    """All arguments in the order of the text."""
    arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    return sorted(arguments, key=lambda a: (a.lineno, a.col_offset))


def _past_parentheses(text: str, end: int, call_end: int) -> int:
    """The end of an argument that stands in parentheses of its own: behind the last but one closing of the call."""
    closing = [i for i in range(end, call_end) if text[i] == ")"]
    if len(closing) < 2 or any(text[i] == "#" for i in range(end, call_end)):
        return end
    return closing[-2] + 1
