"""Operations on one call's arguments: named, renamed, dropped, added, with all else as it stands."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxmigrate.migrate.api_updates.rewrite_context import RewriteContext
from jaxmigrate.program.operations import Code, DropArgument, NameArgument, SetKeyword, code


def given(call: ast.Call, name: str, position: int | None = None) -> ast.expr | None:
    """The argument given under a keyword or at a position."""
    found = next((k.value for k in call.keywords if k.arg == name), None)
    if found is None and position is not None and position < len(call.args):
        return call.args[position]
    return found


def ordered(call: ast.Call) -> list[ast.expr | ast.keyword]:
    """All arguments in the order of the text."""
    arguments: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    return sorted(arguments, key=lambda a: (a.lineno, a.col_offset))


def name_positions(desk: RewriteContext, call: ast.Call, names: Sequence[str], first: int) -> None:
    """Gives positional arguments, those from `first` on, by keyword; an empty name leaves one alone."""
    for argument, name in zip(call.args[first:], names, strict=False):
        if name:
            desk.operations.append(NameArgument(call, argument, name))


def rename_keyword(desk: RewriteContext, call: ast.Call, old: str, new: str) -> None:
    """Gives an argument under another keyword, or by its place where that is empty."""
    for keyword in call.keywords:
        if keyword.arg == old:
            desk.operations.append(NameArgument(call, keyword, new))


def drop_name(desk: RewriteContext, call: ast.Call, keyword: str) -> None:
    """Makes an argument given by a keyword one given by its place."""
    rename_keyword(desk, call, keyword, "")


def set_keyword(desk: RewriteContext, call: ast.Call, name: str, value: str | Code) -> None:
    """Gives an argument by keyword, in the place of the one that has that name by then."""
    desk.operations.append(SetKeyword(call, name, code(value) if isinstance(value, str) else value))


def drop_argument(desk: RewriteContext, call: ast.Call, argument: ast.expr | ast.keyword) -> None:
    """Takes an argument out."""
    desk.operations.append(DropArgument(call, argument))
