"""Says what is under way where that takes more than two seconds: a line that changes, or in logs a line now and then.

An alarm interrupts the work for it, and not a thread: work is forked into processes, which threads would not survive.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from types import FrameType

from jaxmigrate.terminal import DIM, is_quiet, is_terminal, paint, printable, wants_colour

PATIENCE = 2.0
IN_LOGS = 30.0  # between two lines where a line cannot be taken back
_REDRAW = "\r\033[K"


@contextlib.contextmanager
def under_way(what: str) -> Iterator[None]:
    """Tells on standard error, now and then, that something goes on, and since when; what it told is cleared."""
    if is_quiet() or not _can_wait():
        yield
        return
    screen = is_terminal(sys.stderr)
    started = time.monotonic()
    told = False

    def tell(_number: int, _frame: FrameType | None) -> None:
        nonlocal told
        told = True
        text = printable(f"{what}: {time.monotonic() - started:.0f} s")
        if screen:
            width = os.get_terminal_size(sys.stderr.fileno()).columns - 1
            _write(f"{_REDRAW}{paint(text[: width if width > 0 else None], DIM, on=wants_colour(sys.stderr))}")
        else:
            _write(f"{text}\n")

    sys.stderr.flush()
    signal.signal(signal.SIGALRM, tell)
    signal.setitimer(signal.ITIMER_REAL, *((PATIENCE, 0.5) if screen else (IN_LOGS, IN_LOGS)))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        if told and screen:
            _write(_REDRAW)


def _can_wait() -> bool:
    """Whether there is such an alarm, and nobody else waits for it."""
    if not hasattr(signal, "setitimer") or signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL:
        return False
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    except ValueError:  # not the main thread
        return False
    return True


def _write(text: str) -> None:
    """Past the stream's buffer, which may be in use when the alarm comes."""
    with contextlib.suppress(OSError, ValueError):
        os.write(sys.stderr.fileno(), text.encode("utf-8", "backslashreplace"))
