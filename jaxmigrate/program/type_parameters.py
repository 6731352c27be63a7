"""Reads what Python 3.12 added to the grammar where an older Python runs this: type parameters, and `type` statements.

They say nothing of what a program does, so they are left out of what is parsed, and all else keeps its line and byte.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator, Sequence
from typing import NamedTuple

Token = tokenize.TokenInfo
STARTS = frozenset(
    {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.COMMENT}
)


class Change(NamedTuple):
    """What stands from one place of a text to another instead: lines from 1, columns in characters."""

    start: tuple[int, int]
    end: tuple[int, int]
    name: str = ""  # all else is space


def without_type_parameters(text: str) -> str | None:
    """A text that older Pythons can parse, in which all else stands at the same line and byte; None without any.

    What `type` declares is assigned: `type Row = Array` becomes `Row = Array`, with the spaces before the `=`.
    """
    try:
        tokens = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type != tokenize.NL]
    except (tokenize.TokenError, SyntaxError):
        return None
    changes = [*_changes(tokens)]
    if not changes:
        return None
    lines = text.splitlines(keepends=True)
    for change in reversed(changes):
        _apply(change, lines)
    return "".join(lines)


def _changes(tokens: Sequence[Token]) -> Iterator[Change]:
    for number, token in enumerate(tokens[:-2]):
        name, after = tokens[number + 1], tokens[number + 2]
        if token.type != tokenize.NAME or name.type != tokenize.NAME:
            continue
        if token.string in ("def", "class") and after.string == "[":
            end = _closing(tokens, number + 2)
            yield from () if end is None else [Change(after.start, tokens[end].end)]
        first = number == 0 or tokens[number - 1].type in STARTS or tokens[number - 1].string in (":", ";")
        if token.string == "type" and first and after.string in ("=", "["):
            end = _closing(tokens, number + 2) if after.string == "[" else number + 1
            if end is not None and tokens[end + 1].string == "=" and tokens[end].end[0] == token.start[0]:
                yield Change(token.start, tokens[end].end, name.string)


def _closing(tokens: Sequence[Token], opening: int) -> int | None:
    """The token that closes a bracket."""
    depth = 0
    for number in range(opening, len(tokens)):
        depth += (tokens[number].string in "([{") - (tokens[number].string in ")]}") if tokens[number].string else 0
        if depth == 0:
            return number
    return None


def _apply(change: Change, lines: list[str]) -> None:
    """Writes a name and spaces over a part of a text; a line that ends in it goes on behind a backslash."""
    (first, left), (last, right) = change.start, change.end
    for number in range(first - 1, last):
        line = lines[number]
        begin = left if number == first - 1 else 0
        end = right if number == last - 1 else len(line.rstrip("\r\n"))
        width = len(line[begin:end].encode())
        blank = change.name.ljust(width) if change.name else " " * width
        if number < last - 1 and width:
            blank = blank[:-1] + "\\"
        lines[number] = line[:begin] + blank + line[end:]
