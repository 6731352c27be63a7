"""How a file is written, as far as new code has to look like the rest of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Style:
    """A file's unit of indentation, the quote that its strings use, its line ending, and how long its lines may be."""

    indent: str = "    "
    quote: str = '"'
    newline: str = "\n"
    width: int = 88
