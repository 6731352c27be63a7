"""A diff on standard output: as it is where a program reads it, for a person's eyes where one does."""

from __future__ import annotations

import sys

from jaxmigrate.reports.diff import shown_diff
from jaxmigrate.terminal import is_terminal, wants_colour


def print_diff(diff: bytes, encoding: str) -> None:
    """Prints the diff of a file in some encoding."""
    if is_terminal(sys.stdout):
        sys.stdout.write(shown_diff(diff, encoding, wants_colour(sys.stdout)))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(diff)
