"""A process that outlives the verifier if that is killed: it ends what was started, and removes the scratch folder.

It is run as a file of its own. It reads lines of its standard input, `+PID` and `-PID` for process groups that were
started and have ended, and takes the end of that input for the end of the verifier, unless `done` came before.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from contextlib import suppress

# Processes may start others while they are ended.
_PATIENCE_SECONDS = 3.0


def main() -> None:
    """Wait for the verifier to end, and clean up behind it if it could not itself."""
    folder = sys.argv[1]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        word = line.strip()
        if word == "done":
            return
        (groups.add if word.startswith("+") else groups.discard)(int(word[1:]))
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while (_end(groups, folder) or os.path.exists(folder)) and time.monotonic() < deadline:
        shutil.rmtree(folder, onerror=_make_writable)
        time.sleep(0.05)


def _end(groups: set[int], folder: str) -> bool:
    """Kill what is left of the verification; whether there was anything."""
    for group in [*groups]:
        try:
            os.killpg(group, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            groups.discard(group)
    left = [pid for pid in _processes() if _carries(pid, folder)]
    for pid in left:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return bool(groups or left)


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _carries(pid: int, folder: str) -> bool:
    """Whether a process was started by the verification with this folder: its environment leads there."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            entries = file.read().split(b"\0")
        with open(f"/proc/{pid}/stat", "rb") as file:
            is_dead = file.read().rpartition(b")")[2].split()[:1] == [b"Z"]
    except OSError:
        return False
    needle = f"{folder}{os.sep}".encode()
    return not is_dead and any(needle in entry for entry in entries)


def _make_writable(_function: object, path: str, _error: object) -> None:
    with suppress(OSError):
        os.chmod(os.path.dirname(path), 0o700)
        os.chmod(path, 0o700)


if __name__ == "__main__":
    main()
