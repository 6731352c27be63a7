"""What is printed for a person: colour where the terminal has it, and characters that cannot play tricks on it."""

from __future__ import annotations

import os
import sys
from typing import TextIO

BOLD, RED, GREEN, YELLOW, CYAN, DIM = "1", "31", "32", "33", "36", "2"


def is_terminal(stream: TextIO) -> bool:
    """Whether a person is looking at what is written to a stream."""
    return hasattr(stream, "isatty") and stream.isatty()


def wants_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal with colours that the user has not declined (https://no-color.org)."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, *styles: str, on: bool) -> str:
    """The text in some styles, or as it is."""
    return f"\033[{';'.join(styles)}m{text}\033[0m" if on and text else text


def printable(text: str) -> str:
    """The text with everything replaced that would move a cursor, ring a bell or change a colour."""
    return "".join(character if character.isprintable() or character == "\t" else "\ufffd" for character in text)


def indent_like(text: str) -> str:
    """White space exactly as wide as a text: tabs stay, wide characters count two, combining ones nothing."""
    return "".join("\t" if character == "\t" else " " * _width(character) for character in text)


def say(message: str) -> None:
    """Prints a line for the person beside the output, on standard error, after what was printed so far."""
    sys.stdout.flush()
    print(printable(message), file=sys.stderr)


def plural(count: int, noun: str) -> str:
    """A number with its noun, as in `1 file` and `2 files`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _width(character: str) -> int:
    import unicodedata

    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
