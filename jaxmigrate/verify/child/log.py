"""The append-only log of one process: every line is in the kernel's hands before the program goes on.

A program may abort, hang or be killed in the middle of a call. What it had begun must still be readable, so lines are
written unbuffered, one JSON object each, to one file per process.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

from . import processes
from .arrays import Arrays

# Bytes of leaf digests in one log; beyond it only the digest of whole calls is written.
DETAIL_BYTES = 128 << 20
# Leaves of one site's arguments or results whose digests are all written; of later calls, ever fewer are.
DETAIL_LEAVES = 1 << 18
_FIRST_CALLS = 64


def is_detailed(call: int, leaves: int) -> bool:
    """Whether the digests of a call's leaves are to be written: of the same calls on both sides, whatever they hold.

    All of the first calls, then every second, and with each doubling of their number half as many.
    """
    rounds = call // max(_FIRST_CALLS, DETAIL_LEAVES // max(leaves, 1))
    return bool(call % (1 << rounds.bit_length()) == 0)


_ENCODER = json.JSONEncoder(separators=(",", ":"))


class _Log:
    """The log file of the process that this object was made in."""

    def __init__(self, folder: str) -> None:
        name = os.path.join(folder, f"{os.getpid()}.jsonl")
        self.descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.lock = threading.Lock()
        self.order = 0
        self.numbers: dict[tuple[str, str], int] = {}
        self.detail = 0
        self.kept = 0
        self.arrays = Arrays(CONFIG["arrays"])

    def write(self, record: dict[str, Any]) -> None:
        data = _ENCODER.encode(record).encode() + b"\n"
        with self.lock:
            while data:
                data = data[os.write(self.descriptor, data) :]

    def number(self, site: str, thread: str) -> tuple[int, int]:
        """The next position among all calls of the process, and among the calls of the site in this thread."""
        with self.lock:
            order, self.order = self.order, self.order + 1
            call = self.numbers.get((site, thread), 0)
            self.numbers[site, thread] = call + 1
            return order, call

    def take_detail(self, size: int) -> bool:
        """Whether `size` more bytes of leaf digests still fit the log; they are counted if they do."""
        with self.lock:
            self.detail += size
            return self.detail <= DETAIL_BYTES

    def take_kept(self, size: int, limit: int) -> bool:
        """Whether arrays of `size` bytes still fit what one process may leave on disk; counted if they do."""
        with self.lock:
            if self.kept + size > limit:
                return False
            self.kept += size
            return True


CONFIG: dict[str, Any] = {}
_log: _Log | None = None
_opening = threading.Lock()


def configure(config: dict[str, Any]) -> None:
    """Set where to write and what to keep; a forked child gets a log of its own."""
    CONFIG.update(config)
    os.register_at_fork(after_in_child=_forget)


def _forget() -> None:
    global _log, _opening  # noqa: PLW0603 - the log belongs to the process
    _log = None
    _opening = threading.Lock()


def current() -> _Log:
    """The log of this process, opened when it has something to say."""
    global _log  # noqa: PLW0603 - the log belongs to the process
    with _opening:
        if _log is None:
            _log = _Log(CONFIG["records"])
            _log.write(_describe_process())
        return _log


def is_open() -> bool:
    """Whether this process has had something to say."""
    return _log is not None


def _describe_process() -> dict[str, Any]:
    """The facts by which a reader tells this process from the others of the same run."""
    return {
        "k": "process",
        "pid": os.getpid(),
        "parent": os.getppid(),
        "argv": _arguments(),
        "executable": sys.executable,
        "python": ".".join(map(str, sys.version_info[:3])),
        "worker": os.environ.get("PYTEST_XDIST_WORKER", ""),
        "rank": processes.RANK,
        "started": time.time(),
    }


def _arguments() -> list[str]:
    return [str(item) for item in getattr(sys, "argv", [])]
