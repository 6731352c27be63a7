"""What is printed for a person: colour where the terminal has it, and characters that cannot play tricks on it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO

BOLD, RED, GREEN, YELLOW, CYAN, DIM = "1", "31", "32", "33", "36", "2"


def is_terminal(stream: TextIO) -> bool:
    """Whether a person is looking at what is written to a stream."""
    return hasattr(stream, "isatty") and stream.isatty()


def wants_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal with colours, or the user says so; NO_COLOR wins (https://no-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):  # https://force-color.org
        return True
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


_quiet = False


@contextlib.contextmanager
def quiet_if(quiet: bool) -> Iterator[None]:
    """Whether only findings, what is left and errors are wanted within; afterwards it is as it was before."""
    global _quiet  # noqa: PLW0603 - one process runs one command
    before, _quiet = _quiet, quiet
    try:
        yield
    finally:
        _quiet = before


def is_quiet() -> bool:
    """Whether only findings, what is left and errors are wanted."""
    return _quiet


def note(message: str) -> None:
    """Says what is good to know, unless that is not wanted."""
    if not _quiet:
        say(message)


def wrapped(text: str, stream: TextIO) -> str:
    """A line as wide as the terminal that it goes to, further lines indented a little more; else as it is."""
    return fitted(text, columns(stream))


def columns(stream: TextIO) -> int:
    """How wide a terminal is, at least 40; 0 for what is none."""
    if not is_terminal(stream):
        return 0
    import shutil

    return max(shutil.get_terminal_size().columns, 40)


def fitted(text: str, width: int) -> str:
    """A line broken to a width, further lines indented a little more; as it is where the width is 0."""
    if not 0 < width < len(text):
        return text
    import textwrap

    indent = " " * (len(text) - len(text.lstrip(" ")) + 4)
    lines = textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines) or text


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
    print(wrapped(printable(message), sys.stderr), file=sys.stderr)


def plural(count: int, noun: str) -> str:
    """A number with its noun, as in `1 file` and `2 files`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _width(character: str) -> int:
    import unicodedata

    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
