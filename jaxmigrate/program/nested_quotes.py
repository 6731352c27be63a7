"""Reads f-strings of Python 3.12 where an older Python runs this: `f"{x["a"]}"`, with the same quotes within.

The inner quotes become the other ones; where that cannot be, the f-string becomes a plain one. Each character keeps its
place, so that all else stands at the same line and byte.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_OPENS = re.compile(r"(?:(?<!\w)([rRbBfFuU]{1,2}))?(\"\"\"|'''|\"|')|#[^\n]*")
_OTHER = {'"': "'", "'": '"'}


class _Text(NamedTuple):
    """A string: where its prefix begins, its quotes stand and it ends, and the strings in what it formats."""

    start: int
    quotes: str
    opening: int
    end: int
    formats: bool
    inner: tuple[_Text, ...] = ()


def without_nested_quotes(text: str) -> str | None:
    """A text that older Pythons can parse; None where no f-string has its own quotes within, or one is not closed."""
    characters = list(text)
    changed, at = False, 0
    while (found := _OPENS.search(text, at)) is not None:
        one = _string(text, found) if found[2] else None
        if found[2] and one is None:
            return None
        if one is not None and _clashes(text, one):
            changed = True
            _mend(text, one, characters)
        at = one.end if one is not None else found.end()
    return "".join(characters) if changed else None


def _clashes(text: str, one: _Text) -> bool:
    """Whether a string has its own quotes in what it formats, or a backslash in a string there."""
    return any(
        inner.quotes[0] == one.quotes or "\\" in text[inner.opening : inner.end] or _clashes(text, inner)
        for inner in one.inner
    )


def _mend(text: str, one: _Text, characters: list[str]) -> None:
    """Gives the inner strings the other quotes, or, where they are not so simple, formats nothing."""
    other = _OTHER[one.quotes[0]]
    alike = [inner for inner in one.inner if inner.quotes == one.quotes]
    written = "".join(text[inner.opening : inner.end] for inner in alike)
    simple = other not in written and not any(inner.inner for inner in one.inner)
    if simple and not any(_is_hard(text, inner, one) for inner in one.inner):
        for inner in alike:
            characters[inner.opening] = characters[inner.end - 1] = other
        return
    for place in range(one.start, one.opening):
        characters[place] = " "
    for place in range(one.opening + len(one.quotes), one.end - len(one.quotes)):
        if text[place] in "\"'\\":
            characters[place] = " "


def _is_hard(text: str, inner: _Text, one: _Text) -> bool:
    """Whether a string within another has what no quotes help: a backslash, or three quotes."""
    return "\\" in text[inner.opening : inner.end] or (inner.quotes != one.quotes and inner.quotes[0] == one.quotes[0])


def _string(text: str, found: re.Match[str]) -> _Text | None:
    """The string whose prefix and quotes were found; None where it is not closed."""
    prefix, quotes = found[1] or "", found[2]
    formats = "f" in prefix.lower()
    inner: list[_Text] = []
    at = found.end()
    while at < len(text):
        if text.startswith(quotes, at):
            return _Text(found.start(), quotes, found.start(2), at + len(quotes), formats, tuple(inner))
        if text[at] == "\n" and len(quotes) == 1:
            return None
        if text[at] == "\\" or (formats and text.startswith("{{", at)):
            at += 2
        elif formats and text[at] == "{":
            closed = _field(text, at + 1, inner)
            if closed is None:
                return None
            at = closed
        else:
            at += 1
    return None


def _field(text: str, at: int, inner: list[_Text]) -> int | None:
    """Where a field that an f-string formats is closed; what strings are in it is added."""
    depth = 1
    while at < len(text):
        found = _OPENS.match(text, at)
        if found is not None and found[2]:
            one = _string(text, found)
            if one is None:
                return None
            inner.append(one)
            at = one.end
            continue
        letter = text[at]
        if letter in "#\n":
            return None
        depth += (letter in "([{") - (letter in ")]}")
        at += 1
        if depth == 0:
            return at
        if letter == ":" and depth == 1:
            return _format(text, at, inner)
    return None


def _format(text: str, at: int, inner: list[_Text]) -> int | None:
    """Where the field ends whose format begins here, which may have fields of its own."""
    while at < len(text) and text[at] != "\n":
        if text[at] == "}":
            return at + 1
        closed = _field(text, at + 1, inner) if text[at] == "{" else at + 1
        if closed is None:
            return None
        at = closed
    return None
