"""Lines of arguments that the author of a call broke between: where one grows too long, each argument has its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import libcst as cst

from jaxmigrate.codemod.layout import Room, argument, fits, separators, source
from jaxmigrate.codemod.places import Places

Row = list[int]
NOTHING = cst.SimpleWhitespace("")


class Rows:
    """The calls around the node that is visited, and those of which a line has changed."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._around: list[cst.Call] = []
        self._changed: dict[int, list[Row]] = {}

    def enter(self, call: cst.Call) -> None:
        """Notes that a call is visited."""
        self._around.append(call)

    def leave(self) -> None:
        """Notes that it is left."""
        self._around.pop()

    def take(self, node: cst.BaseExpression) -> bool:
        """Whether a changed node stands on a line of arguments, which is broken anew when all of it is known."""
        around = (one for one in reversed(self._around) if one is not node and self._places.knows(one))
        call = next((one for one in around if self._has_lines(one)), None)
        own = rows(call.args, call.whitespace_before_args) if call is not None else ()
        row = next((row for row in own if call is not None and self._holds(call, row, node)), None)
        if call is None or row is None:
            return False
        known = self._changed.setdefault(id(call), [])
        known += [] if row in known else [row]
        return True

    def _has_lines(self, node: cst.CSTNode) -> bool:
        return self._places.start(node)[0] != self._places.end(node)[0]

    def _holds(self, call: cst.Call, row: Row, node: cst.BaseExpression) -> bool:
        """Whether a line of arguments holds a node, and nothing but whole arguments."""
        first, last = call.args[row[0]], call.args[row[-1]]
        start, end = self._places.start(first), self._places.end(last)
        inside = start <= self._places.start(node) and self._places.end(node) <= end
        return inside and start[0] == end[0]

    def has(self, call: cst.Call) -> bool:
        """Whether a line of a call's arguments has changed."""
        return id(call) in self._changed

    def broken(self, original: cst.Call, updated: cst.Call, room: Room) -> cst.Call:
        """A call with its changed lines broken where they have grown too long."""
        changed = self._changed.pop(id(original), [])
        if not changed or len(original.args) != len(updated.args):
            return updated
        args = [*updated.args]
        for row in changed:
            ends = row[-1] + 1 == len(args)
            before = original.args[row[0] - 1].comma if row[0] else None
            space = before.whitespace_after if isinstance(before, cst.Comma) else original.whitespace_before_args
            assert isinstance(space, cst.ParenthesizedWhitespace)
            line = (room.block if space.indent else "") + space.last_line.value
            behind = 1 if not ends or _breaks(args[-1]) else room.behind + 1
            own = replace(room, line=line, column=len(line), behind=behind)
            args[row[0] : row[-1] + 1] = _broken(args[row[0] : row[-1] + 1], own, all_args=len(row) == len(args))
        return updated.with_changes(args=args)


def rows(args: Sequence[cst.Arg], before: cst.BaseParenthesizableWhitespace) -> Iterator[Row]:
    """The arguments of each line that begins with one."""
    row: Row = []
    starts = isinstance(before, cst.ParenthesizedWhitespace)
    for index, arg in enumerate(args):
        row.append(index)
        if _breaks(arg) or index + 1 == len(args):
            if starts:
                yield row
            row, starts = [], _breaks(arg)


def _breaks(arg: cst.Arg) -> bool:
    """Whether a line ends behind an argument."""
    after = arg.comma.whitespace_after if isinstance(arg.comma, cst.Comma) else arg.whitespace_after_arg
    return isinstance(after, cst.ParenthesizedWhitespace)


def _broken(args: Sequence[cst.Arg], room: Room, *, all_args: bool) -> Sequence[cst.Arg]:
    """The arguments of one line, on as many as they need."""
    parts = [arg.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=NOTHING) for arg in args]
    if fits(", ".join(source(arg) for arg in parts), room):
        return args
    parts = [argument(arg, room if arg is parts[-1] else replace(room, behind=1)) for arg in parts]
    ends = separators([source(arg) for arg in parts], room, room.behind)
    made = [arg.with_changes(comma=cst.Comma(whitespace_after=end)) for arg, end in zip(parts, ends, strict=False)]
    comma, space = args[-1].comma, args[-1].whitespace_after_arg
    if all_args and len(args) > 1 and not room.style.fills and isinstance(space, cst.ParenthesizedWhitespace):
        comma, space = cst.Comma(whitespace_after=space), NOTHING
    return [*made, parts[-1].with_changes(comma=comma, whitespace_after_arg=space)]
