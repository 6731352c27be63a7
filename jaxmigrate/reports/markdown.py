"""The pieces of Markdown that reports are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self


def section(title: str, lines: Sequence[str]) -> list[str]:
    """A section with a heading, or nothing where it would be empty."""
    return [f"## {title}\n", "\n".join(lines) + "\n"] if lines else []


class Link(str):
    """A cell that leads somewhere."""

    __slots__ = ("target",)
    target: str

    def __new__(cls, text: str, target: str) -> Self:
        """The text with its target, which is no part of it."""
        link = super().__new__(cls, text)
        link.target = target
        return link


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table of plain text, or nothing where there are no rows."""
    lines = [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    return [f"| {' | '.join(header)} |", f"|{' --- |' * len(header)}", *lines] if lines else []


def _cell(text: str) -> str:
    return f"[{escaped(text)}](<{text.target}>)" if isinstance(text, Link) else escaped(text)


def escaped(text: str) -> str:
    """One line that Markdown takes literally, also inside a table."""
    flat = " ".join(text.split())
    return "".join(f"\\{character}" if character in "\\`*_{}[]<>|#" else character for character in flat)


def fenced(text: str, language: str = "") -> list[str]:
    """A block of code whose fence is longer than any in it, or nothing where there is no code."""
    if not text:
        return []
    fence = "```"
    while fence in text:
        fence += "`"
    return [f"{fence}{language}", text.rstrip("\n"), fence]
