"""How a file is written, as far as new code has to look like the rest of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Style:
    """A file's unit of indentation, the quote that its strings use, its line ending, and how long its lines may be.

    `combine_as` says that an import may have names with an `as` beside others, `fills` that brackets on several lines
    have more than one element on a line, `hangs` that the bracket that closes them stands behind the last of these.
    `hanging` is the indentation of their lines, where it is another one than that of statements.
    """

    indent: str = "    "
    quote: str = '"'
    newline: str = "\n"
    width: int = 88
    combine_as: bool = True
    fills: bool = False
    hangs: bool = False
    hanging: str = ""

    @property
    def continuation(self) -> str:
        """The indentation of lines within brackets."""
        return self.hanging or self.indent
