"""Compares what two programs print, or write into files of text: word by word, and numbers as numbers.

How long something took, what time it is and where something lies in memory is another thing in every run, so words that
say such things are left out. A run of the original whose arguments were moved by one rounding, or that ran again as it
is, shows how far a number moves by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan\b|inf\b)", re.IGNORECASE)
_FLOAT = r"\d+(?:\.\d*)?(?:[eE][-+]?\d+)?"
_LABEL = (
    r"(?:\b|_)(?:time|elapsed|took|duration|secs?|seconds?|speed|fps|sps|throughput|(?:\w+_per_|\w+/)s(?:ec(?:ond)?)?)"
)
_VOLATILE = re.compile(
    "|".join(
        (
            r"\d{4}-\d\d-\d\d[T_ ]?\d*[:_-]?\d*[:_-]?\d*(?:[.,]\d+)?",
            r"\d?\d:\d\d(?::\d\d)?(?:[.,]\d+)?",
            r"0x[0-9a-fA-F]{4,}",
            r"/tmp/\S*",
            rf"{_FLOAT}\s*(?:ms|us|µs|ns|s|secs?|seconds?|mins?|minutes?|hours?|h)\b",
            rf"{_FLOAT}\s*\w+\s*/\s*s(?:ec(?:ond)?)?\b",
            rf"{_LABEL}\w*[\"']?\s*[:=(]?\s*{_FLOAT}",
        )
    ),
    re.IGNORECASE,
)
# A number of single precision is printed in so many digits that roundings show.
_RELATIVE = 4e-6
_TIMES = 16.0
_SHOWN = 120


class Line(NamedTuple):
    """A line with its numbers taken out: `words` is what is left, `text` the line itself, `number` counts from 1."""

    number: int
    text: str
    words: str
    numbers: tuple[str, ...]


class Difference(NamedTuple):
    """The first line that is another one: its number, and both texts; `rewritten` is empty where it is missing."""

    number: int
    original: str
    rewritten: str

    def __str__(self) -> str:
        if not self.rewritten:
            return f"line {self.number}: {self.original[:_SHOWN]!r} in the original, missing in the rewritten program"
        original, rewritten = self.original[:_SHOWN], self.rewritten[:_SHOWN]
        return f"line {self.number}: {original!r} in the original, {rewritten!r} rewritten"


def lines_of(texts: Sequence[str]) -> list[Line]:
    """The lines with their numbers taken out."""
    found = []
    for number, text in enumerate(texts, 1):
        steady = _VOLATILE.sub("~", text.rstrip())
        found.append(Line(number, text, _NUMBER.sub("#", steady), tuple(_NUMBER.findall(steady))))
    return found


def difference(
    ours: Sequence[str], theirs: Sequence[str], again: Sequence[str] | None = None, *, rounded: bool = False
) -> Difference | None:
    """The first line of which another run of the original, `again`, does not say that it may be another one.

    Lines that only the rewritten program has say nothing of the original's. `rounded` says that what is printed was not
    computed bit by bit alike, so that a last digit may be another one.
    """
    if ours == theirs:
        return None
    one, other = lines_of(ours), lines_of(theirs)
    third = _beside(one, lines_of(again)) if again is not None else {}
    for line, counterpart in _side_by_side(one, other):
        if line is not None and counterpart is not None:
            if not _same(line, counterpart, third.get(line.number), rounded=rounded):
                return Difference(line.number, line.text, counterpart.text)
        elif line is not None and (again is None or line.number in third) and line.text.strip():
            return Difference(line.number, line.text, "")
    return None


def shared_difference(
    ours: Sequence[str], theirs: Sequence[str], again: Sequence[str] | None = None, *, rounded: bool = False
) -> Difference | None:
    """The first number with a point that is another one, of lines that both sides have as often: for what is logged.

    Warnings and progress bars come as they like, and stand beside what a program logs.
    """
    one, other, third = (lines_of(texts or ()) for texts in (ours, theirs, again))
    found = []
    for words in {line.words for line in one}:
        groups = [[line for line in lines if line.words == words] for lines in (one, other, third)]
        if len(groups[0]) != len(groups[1]):
            continue
        thirds: list[Line | None] = [*groups[2]] if len(groups[2]) == len(groups[0]) else [None] * len(groups[0])
        for line, counterpart, beside in zip(groups[0], groups[1], thirds, strict=True):
            pointed = any("." in number for number in line.numbers)
            same = _same(line, counterpart, beside, rounded=rounded)
            if pointed and not same and (again is None or beside is not None):
                found.append(Difference(line.number, line.text, counterpart.text))
    return min(found, default=None)


def _beside(ours: Sequence[Line], again: Sequence[Line]) -> dict[int, Line]:
    """For each line of the original that the other run of it has too, what it is there."""
    pairs = _side_by_side(ours, again)
    return {line.number: other for line, other in pairs if line is not None and other is not None}


def _side_by_side(ours: Sequence[Line], theirs: Sequence[Line]) -> Iterator[tuple[Line | None, Line | None]]:
    words, others = ([line.words for line in lines] for lines in (ours, theirs))
    if words == others:
        yield from zip(ours, theirs, strict=True)
        return
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    for tag, start, end, start_b, end_b in matcher.get_opcodes():
        paired = min(end - start, end_b - start_b)
        yield from zip(ours[start : start + paired], theirs[start_b : start_b + paired], strict=True)
        if tag != "equal":
            yield from ((line, None) for line in ours[start + paired : end])
            yield from ((None, line) for line in theirs[start_b + paired : end_b])


def _same(line: Line, other: Line, third: Line | None, *, rounded: bool) -> bool:
    if line.words != other.words:
        return third is not None and third.words != line.words
    beside = third.numbers if third is not None and third.words == line.words else line.numbers
    triples = zip(line.numbers, other.numbers, beside, strict=True)
    return all(_close(*triple, rounded=rounded) for triple in triples)


def _close(text: str, other: str, third: str, *, rounded: bool) -> bool:
    """Whether two numbers are the same, or as near to each other as the original is to itself."""
    if text == other:
        return True
    one, two, three = float(text), float(other), float(third)
    if not abs(one - two) < float("inf"):
        return (one != one) == (two != two) and (one != one or one == two)
    larger = max(abs(one), abs(two))
    if text == third and not any(set(number.lower()) & set(".e") for number in (text, other)):
        return False
    last_place = 1.5 * min(_last_place(text), _COARSE * larger) if rounded else 0.0
    return abs(one - two) <= _TIMES * abs(three - one) + _RELATIVE * larger + last_place


# What is printed in few digits hides how near it is to the next number of as many.
_COARSE = 1e-2


def _last_place(text: str) -> float:
    """The size of the last digit of a number."""
    mantissa, _, exponent = text.lower().partition("e")
    return float(10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2])))
