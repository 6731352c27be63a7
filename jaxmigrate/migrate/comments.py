"""Comments within an expression that is written anew: they stay, and a `#` in a string is none."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator

from jaxmigrate.migrate.edits import Positions


def comments_around(text: str, low: int, high: int) -> tuple[list[str], list[str]]:
    """The comments in the text of an expression before a part of it, and those after it."""
    if "#" not in text[:low] + text[high:]:
        return [], []
    found = list(comments_of(text))
    return [one for place, one in found if place < low], [one for place, one in found if place >= high]


def comments_of(text: str) -> Iterator[tuple[int, str]]:
    """The comments of an expression, each with its offset, as far as Python's tokenizer gets."""
    starts = Positions(text).starts
    lines = io.StringIO(f"(\n{text}\n)\n", newline="")  # in parentheses, where lines may begin and end anywhere
    try:
        for token in tokenize.generate_tokens(lines.readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                yield starts[row - 2] + column, token.string.rstrip()
    except (tokenize.TokenError, SyntaxError):
        return
