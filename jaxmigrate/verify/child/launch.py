"""Runs one command in several processes that make up one JAX program; run as `python -m jaxmigrate_child.launch`.

The processes are told their number and where they meet by the environment; `processes.py` reads that when JAX is
imported. The first one has the standard streams; what the others print goes to standard error, line by line.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from types import FrameType
from typing import Any

from .processes import COUNT, NUMBER, PORT, free_port

# A process that is left alone by the others waits for them for minutes.
_PATIENCE_SECONDS = 10.0


def main() -> None:
    """Start the processes, wait for them, and end as the first one that fails does."""
    count, executable, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    port = str(free_port())
    children = [_start(number, count, port, executable, command) for number in range(count)]
    signal.signal(signal.SIGTERM, lambda _number, _frame: _end(children))
    status = _wait(children)
    if status < 0:
        os.kill(os.getpid(), -status)
    sys.exit(status)


def _start(number: int, count: int, port: str, executable: str, command: list[str]) -> Any:
    environment = {**os.environ, NUMBER: str(number), COUNT: str(count), PORT: port}
    streams: dict[str, Any] = {}
    if number:
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
    child = subprocess.Popen(command, executable=executable, env=environment, **streams)
    if number:
        threading.Thread(target=_hand_on, args=(number, child.stdout), daemon=True).start()
    return child


def _hand_on(number: int, lines: Any) -> None:
    for line in lines:
        sys.stderr.buffer.write(b"[process %d] " % number + line)
        sys.stderr.buffer.flush()


def _wait(children: list[Any]) -> int:
    """The status of the first process that fails, once the others have ended or had time to; 0 if none does."""
    failed, since = 0, 0.0
    while True:
        statuses = [child.poll() for child in children]
        failed = failed or next((status for status in statuses if status), 0)
        since = since or (time.monotonic() if failed else 0.0)
        if None not in statuses:
            return failed
        if failed and time.monotonic() - since > _PATIENCE_SECONDS:
            _end(children)
            return failed
        time.sleep(0.05)


def _end(children: list[Any], _frame: FrameType | None = None) -> None:
    for child in children:
        if child.poll() is None:
            child.kill()


if __name__ == "__main__":
    main()
