"""Shows how a verification gets on: on a terminal in a line that changes, elsewhere in lines that stay.

Either way each run leaves one line behind, and what is under way shows its side, its calls and where it is.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator

from jaxmigrate.reports.figures import seconds
from jaxmigrate.terminal import DIM, is_quiet, is_terminal, paint, plural, printable, wants_colour
from jaxmigrate.verify.model import Progress

_BAR = 16
# Between two lines of a log that say that a run goes on.
_EVERY_SECONDS = 30.0
_REDRAW = "\r\033[K"


@contextlib.contextmanager
def progress_display() -> Iterator[Callable[[Progress], None]]:
    """A callback for `verify` that shows its progress on standard error, and cleans up behind itself."""
    if is_quiet():
        yield lambda _: None
        return
    if not is_terminal(sys.stderr):
        yield _Lines().show
        return
    try:
        yield _redraw
    finally:
        _write(_REDRAW)


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _redraw(progress: Progress) -> None:
    width = shutil.get_terminal_size().columns - 1
    shown = paint(printable(line(progress))[:width], DIM, on=wants_colour(sys.stderr))
    _write(f"{_REDRAW}{shown}" + ("\n" if progress.phase == "ran" else ""))


class _Lines:
    """Remembers what was said last, for logs that cannot take a line back."""

    def __init__(self) -> None:
        self._last = ("", "")
        self._said = 0.0

    def show(self, progress: Progress) -> None:
        """Prints a line when a run begins, goes on for long, and ends, and for each other phase but copying."""
        current = (progress.phase, progress.run)
        if current != self._last:
            self._last, self._said = current, 0.0
            if progress.phase == "running":
                _write(f"  running {progress.run}\n")
            elif progress.phase != "copying":
                _write(f"  {printable(line(progress))}\n")
        elif progress.seconds - self._said >= _EVERY_SECONDS:
            self._said = progress.seconds
            _write(f"  {printable(line(progress))}\n")


def line(progress: Progress) -> str:
    """One moment in one line: a bar where an earlier run tells how many calls there are, else a count."""
    spent = seconds(progress.seconds)
    if progress.phase == "ran":
        return f"ran {progress.run}: {plural(progress.calls, 'mapped call')} in {spent}"
    if progress.phase != "running":
        return f"{progress.phase} {progress.run}".rstrip()
    count, expected = progress.calls, progress.calls_expected
    where = f" {_place(progress.site)}" if progress.site else ""
    if not expected or count > expected:
        return f"running {progress.run}: {plural(count, 'mapped call')}, {spent}{where}"
    full = min(_BAR, _BAR * count // expected)
    bar = "#" * full + "-" * (_BAR - full)
    return f"running {progress.run} [{bar}] {count} of {expected} mapped calls, {spent}{where}"


def _place(site: str) -> str:
    """A site without its column."""
    place, _, column = site.rpartition(":")
    return place if column.isdigit() and ":" in place else site
