"""Which lines of one text became which of another, as difflib tells it, and in linear time where texts are long."""

from __future__ import annotations

import bisect
import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeVar

LONG = 20_000  # lines from which difflib takes seconds
Opcode = tuple[str, int, int, int, int]
_Line = TypeVar("_Line", str, bytes)


def opcodes(before: Sequence[_Line], after: Sequence[_Line]) -> Sequence[Opcode]:
    """The steps from one sequence of lines to another, as `difflib.SequenceMatcher.get_opcodes` gives them."""
    if len(before) + len(after) < LONG:
        return difflib.SequenceMatcher(None, before, after).get_opcodes()
    return list(_merged(_between_anchors(before, after)))


def grouped(before: Sequence[_Line], after: Sequence[_Line]) -> Iterator[list[Opcode]]:
    """The same in groups with three lines around each change."""
    matcher: difflib.SequenceMatcher[_Line] = difflib.SequenceMatcher(None, (), ())
    matcher.opcodes = list(opcodes(before, after))  # type: ignore[attr-defined]
    groups: Iterator[list[Opcode]] = iter(matcher.get_grouped_opcodes())
    return groups


def _between_anchors(before: Sequence[_Line], after: Sequence[_Line]) -> Iterator[Opcode]:
    """Lines that stand once in both texts, in the same order, hold the rest in place."""
    old, new = 0, 0
    for i, j in [*_anchors(before, after), (len(before), len(after))]:
        matcher = difflib.SequenceMatcher(None, before[old:i], after[new:j])
        for kind, a, b, c, d in matcher.get_opcodes():
            yield kind, old + a, old + b, new + c, new + d
        if i < len(before):
            yield "equal", i, i + 1, j, j + 1
        old, new = i + 1, j + 1


def _anchors(before: Sequence[_Line], after: Sequence[_Line]) -> list[tuple[int, int]]:
    """The longest series of lines that stand once in both texts and in the same order in both."""
    once = {line for line, count in Counter(before).items() if count == 1}
    once &= {line for line, count in Counter(after).items() if count == 1}
    place = {line: number for number, line in enumerate(after) if line in once}
    pairs = [(number, place[line]) for number, line in enumerate(before) if line in once]
    ends: list[int] = []  # of the series of each length, the least last place
    last: list[int] = []  # and the pair that it stands in
    previous: list[int] = []
    for number, (_, at) in enumerate(pairs):
        length = bisect.bisect_left(ends, at)
        previous.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [at]
        last[length : length + 1] = [number]
    found: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        found.append(pairs[number])
        number = previous[number]
    return found[::-1]


def _merged(steps: Iterator[Opcode]) -> Iterator[Opcode]:
    """Equal stretches that follow one another as one."""
    waiting: Opcode | None = None
    for step in steps:
        if waiting is not None and waiting[0] == step[0] == "equal":
            waiting = ("equal", waiting[1], step[2], waiting[3], step[4])
            continue
        if waiting is not None:
            yield waiting
        waiting = step
    if waiting is not None:
        yield waiting
