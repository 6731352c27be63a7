"""Tells the log which files of the project a process has loaded: those whose code this command can reach."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator
from types import FrameType

from . import log

_SAID: set[str] = set()
# Where an absolute path leads is asked once: a process has a thousand modules.
_LOOKED_AT: set[str] = set()
_COPY: list[str] = []


def tell_of(copy: str) -> None:
    """Tell of files below `copy`: whenever something is mapped, and when the process ends."""
    _COPY[:] = [os.path.join(copy, "")]
    atexit.register(say)


def say() -> None:
    """Log the files that were not told of yet, where the process has a log."""
    if not _COPY or not log.is_open():
        return
    new = sorted({*_files(_COPY[0])} - _SAID)
    if new:
        _SAID.update(new)
        log.current().write({"k": "files", "files": new})


def place_in_project(frame: FrameType | None) -> str:
    """Where the project's innermost code stands that is running, as `path:line`; empty if there is none."""
    project = _COPY[0] if _COPY else ""
    while frame is not None and project:
        path = os.path.realpath(frame.f_code.co_filename)
        if path.startswith(project):
            return f"{path[len(project) :].replace(os.sep, '/')}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def _files(project: str) -> Iterator[str]:
    """The files of the modules loaded since; a notebook has no module of its own, and is the program itself."""
    found = [vars(module).get("__file__") for module in [*sys.modules.values()] if hasattr(module, "__dict__")]
    for name in (*found, *getattr(sys, "argv", [])[:1]):
        if not isinstance(name, str) or not name or name in _LOOKED_AT:
            continue
        if os.path.isabs(name):
            _LOOKED_AT.add(name)
        path = os.path.realpath(name)
        if path.startswith(project) and os.path.isfile(path):
            yield path[len(project) :].replace(os.sep, "/")
