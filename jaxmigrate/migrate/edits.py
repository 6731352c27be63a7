"""Edits of a text by position, so that every byte that no edit names stays as it is.

Positions come from `ast`: lines from 1, columns in UTF-8 bytes. Concrete syntax trees would give the same places at ten
times the price; nothing here rebuilds a node, it only replaces the characters between two places.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replaces `text[start:end]`; an insertion where both are equal."""

    start: int
    end: int
    replacement: str


class Positions:
    """Turns `ast` positions into offsets of a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def offset(self, line: int, column: int) -> int:
        """The offset of a line (from 1) and a column in UTF-8 bytes."""
        start = self.starts[line - 1]
        end = self.starts[line] if line < len(self.starts) else len(self._text)
        content = self._text[start:end]
        if content.isascii():
            return start + column
        return start + len(content.encode()[:column].decode(errors="replace"))

    def span(self, node: ast.expr | ast.stmt | ast.alias | ast.keyword) -> tuple[int, int]:
        """The offsets between which a node stands."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def line_of(self, offset: int) -> int:
        """The line, from 1, that holds an offset."""
        return bisect_right(self.starts, offset)

    def line_span(self, line: int) -> tuple[int, int]:
        """The offsets of a line with its ending."""
        end = self.starts[line] if line < len(self.starts) else len(self._text)
        return self.starts[line - 1], end

    def column(self, node: ast.expr | ast.stmt) -> int:
        """A node's column in characters, from 1."""
        return self.offset(node.lineno, node.col_offset) - self.starts[node.lineno - 1] + 1


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made; raises ValueError where two overlap."""
    parts: list[str] = []
    done = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if edit.start < done:
            raise ValueError(f"overlapping edits at offset {edit.start}")
        parts += [text[done : edit.start], edit.replacement]
        done = edit.end
    return "".join([*parts, text[done:]])
