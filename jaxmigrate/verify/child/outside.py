"""Tells the log which files outside of the project's copy a process opens: one run may leave some to the next.

Only what Python itself opens is seen, not what libraries open by code of their own.
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import Any

from . import log
from .overlay import writes

_MOST = 1000
_SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/")
_WROTE: dict[str, None] = {}
_READ: dict[str, None] = {}
_INSIDE: list[str] = []


def tell_of(*inside: str) -> None:
    """Tell of files that are opened outside of some folders and of where Python and its libraries are installed."""
    installed = {os.path.dirname(os.__file__), sys.prefix, sys.base_prefix, os.path.dirname(os.path.dirname(__file__))}
    _INSIDE[:] = [os.path.join(os.path.realpath(folder), "") for folder in (*inside, *installed) if folder]
    _INSIDE.extend(_SYSTEM)
    sys.addaudithook(_note)
    atexit.register(say)


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" or not isinstance(arguments[0], (str, bytes, os.PathLike)):
        return
    written = writes(arguments[1], arguments[2])
    found = _WROTE if written else _READ
    path = os.path.abspath(os.fsdecode(arguments[0]))
    if len(found) < _MOST and not path.endswith((".py", ".pyc")) and not path.startswith(tuple(_INSIDE)):
        found[path] = None
        if written and isinstance(arguments[1], str) and "+" in arguments[1]:
            _READ[path] = None


def say() -> None:
    """Log the files, where there are some and the process has a log."""
    if (_WROTE or _READ) and log.is_open():
        log.current().write({"k": "outside", "wrote": [*_WROTE], "read": [*_READ]})
