"""Which lines of one text became which of another, as difflib tells it, and in linear time where texts are long."""

from __future__ import annotations

import bisect
import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

LONG = 4_000  # lines of both texts from which difflib, whose time grows with the square of them, takes seconds
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


def _between_anchors(before: Sequence[_Line], after: Sequence[_Line], often: bool = False) -> Iterator[Opcode]:
    """Lines that stand once in both texts, in the same order, hold the rest in place.

    Long stretches without such a line are held by those that stand in both of them equally `often`.
    """
    old, new = 0, 0
    for i, j in [*_anchors(before, after, often), (len(before), len(after))]:
        for kind, a, b, c, d in _between(before[old:i], after[new:j], often):
            yield kind, old + a, old + b, new + c, new + d
        if i < len(before):
            yield "equal", i, i + 1, j, j + 1
        old, new = i + 1, j + 1


def _between(before: Sequence[_Line], after: Sequence[_Line], often: bool) -> Iterable[Opcode]:
    """The steps between two anchors."""
    if often or len(before) + len(after) < LONG:
        return difflib.SequenceMatcher(None, before, after).get_opcodes()
    return _between_anchors(before, after, often=True)


def _anchors(before: Sequence[_Line], after: Sequence[_Line], often: bool) -> list[tuple[int, int]]:
    """The longest series of lines that stand equally often in both texts, once if not `often`, in the same order."""
    counts, others = Counter(before), Counter(after)
    alike = {line for line, count in counts.items() if others[line] == count and (often or count == 1)}
    places: dict[_Line, list[int]] = {line: [] for line in alike}
    for number, line in enumerate(after):
        if line in alike:
            places[line].append(number)
    following = {line: iter(found) for line, found in places.items()}
    return _longest([(number, next(following[line])) for number, line in enumerate(before) if line in alike])


def _longest(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest series of pairs of which both numbers grow; the first ones do in any case."""
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
