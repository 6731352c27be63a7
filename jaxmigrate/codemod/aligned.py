"""Keeps lines that stand below what is behind an opening bracket there, where a longer or shorter name moves it."""

from __future__ import annotations

import libcst as cst

from jaxmigrate.codemod.layout import Moved, Room, source


def realigned(original: cst.Call, updated: cst.Call, room: Room) -> cst.Call:
    """A call of another name, with the lines that its author put below its first argument put there again."""
    before, after = source(original.func), source(updated.func)
    by = len(after) - len(before)
    if not by or "\n" in before + after or isinstance(original.whitespace_before_args, cst.ParenthesizedWhitespace):
        return updated
    column = room.column + len(before) + len("(") - len(room.block)
    lines = _Lines()
    for arg in original.args:
        arg.visit(lines)
    if not any(line == column for line in lines.found.values()):
        return updated
    moved = Moved(by, only={one for one, line in lines.found.items() if line >= column})
    args = [arg.visit(moved) for arg in updated.args]
    found = updated.with_changes(args=args)
    widest = max(len(line) for line in source(found).split("\n")[1:]) + len(room.block)
    return found if by < 0 or widest + room.behind <= room.width else updated


class _Lines(cst.CSTVisitor):
    """Finds the line breaks in arguments, by what they are, and how far the lines behind them are indented."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[int, int] = {}

    def visit_ParenthesizedWhitespace(self, node: cst.ParenthesizedWhitespace) -> bool:
        """Notes one."""
        if node.indent:
            self.found[id(node)] = len(node.last_line.value)
        return False
