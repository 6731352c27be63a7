"""Shows how a verification gets on: one line that changes on a terminal, a line for each run elsewhere."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator

from jaxmigrate.terminal import is_terminal, printable
from jaxmigrate.verify.model import Progress

_BAR = 24


@contextlib.contextmanager
def progress_display() -> Iterator[Callable[[Progress], None]]:
    """A callback for `verify` that shows its progress on standard error, and cleans up behind itself."""
    if not is_terminal(sys.stderr):
        yield _Lines().show
        return
    try:
        yield _redraw
    finally:
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()


def _redraw(progress: Progress) -> None:
    width = shutil.get_terminal_size().columns - 1
    sys.stderr.write(f"\r\033[K{printable(line(progress))[:width]}")
    sys.stderr.flush()


class _Lines:
    """Remembers what was said last, for logs that cannot take a line back."""

    def __init__(self) -> None:
        self._last = ("", "")

    def show(self, progress: Progress) -> None:
        """Prints a line when a new run or phase begins."""
        current = (progress.phase, progress.run)
        if current != self._last:
            self._last = current
            print(f"  {' '.join(part for part in current if part)}", file=sys.stderr, flush=True)


def line(progress: Progress) -> str:
    """One moment in one line: a bar where the number of calls is known from an earlier run, else a count."""
    if progress.phase != "running":
        return f"{progress.phase} {progress.run}".rstrip()
    count, expected = progress.calls, progress.calls_expected
    seconds = f"{progress.seconds:.0f} s"
    if not expected:
        return f"running {progress.run}: {count} mapped calls, {seconds} {progress.site}".rstrip()
    full = min(_BAR, _BAR * count // expected)
    bar = "#" * full + "-" * (_BAR - full)
    return f"running {progress.run} [{bar}] {count} of {expected} mapped calls, {seconds} {progress.site}".rstrip()
