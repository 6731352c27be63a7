"""One child process group: started, watched, and ended so that nothing of it is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

POLL_SECONDS = 0.1
GRACE_SECONDS = 1.0


@dataclass(frozen=True)
class Outcome:
    """How a child ended: `kind` is finished, exited, signal, timeout or deadlock; `seconds` is wall-clock time."""

    kind: str
    status: int | None
    signal: str
    seconds: float


@dataclass(frozen=True)
class Streams:
    """The files that stand for a child's standard input, output and error."""

    stdin: Path
    stdout: Path
    stderr: Path


def run_child(
    command: list[str],
    executable: str,
    cwd: Path,
    environment: Mapping[str, str],
    streams: Streams,
    timeout: float,
    watch: Callable[[float], str],
) -> Outcome:
    """Run a command in a session of its own until it ends, its time is up, or `watch` says what is wrong with it.

    `watch` is called about ten times a second with the seconds since the start; any text but the empty one ends the
    run and becomes the outcome's kind.
    """
    started = time.monotonic()
    with _started(command, executable, cwd, environment, streams) as child:
        while True:
            with suppress(subprocess.TimeoutExpired):
                status = child.wait(POLL_SECONDS)
                watch(time.monotonic() - started)
                return _ended(status, time.monotonic() - started)
            seconds = time.monotonic() - started
            kind = "timeout" if seconds > timeout else watch(seconds)
            if kind:
                return Outcome(kind, None, "", seconds)


@contextmanager
def _started(
    command: list[str], executable: str, cwd: Path, environment: Mapping[str, str], streams: Streams
) -> Iterator[subprocess.Popen[bytes]]:
    with streams.stdin.open("rb") as stdin, streams.stdout.open("wb") as stdout, streams.stderr.open("wb") as stderr:
        child = subprocess.Popen(
            command,
            executable=executable,
            cwd=cwd,
            env=dict(environment),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        try:
            yield child
        finally:
            end_group(child, environment["JAXMIGRATE_VERIFY"])


def end_group(child: subprocess.Popen[bytes], token: str) -> None:
    """End the child's process group and every process that carries `token`, politely first, then for certain."""
    _signal_group(child.pid, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < deadline and (child.poll() is None or _group_exists(child.pid)):
        time.sleep(0.02)
    _signal_group(child.pid, signal.SIGKILL)
    child.wait()
    for pid in carriers(token):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _signal_group(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def carriers(token: str) -> list[int]:
    """The processes that were started with JAXMIGRATE_VERIFY=token and have left the group; Linux tells."""
    needle = f"JAXMIGRATE_VERIFY={token}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if needle in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


def _ended(status: int, seconds: float) -> Outcome:
    # A shell reports the signal that ended its child as 128 and the signal's number.
    number = -status if status < 0 else status - 128
    name = _signal_name(number) if status < 0 or status in _SHELL_SIGNALS else ""
    if name:
        return Outcome("signal", status, name, seconds)
    return Outcome("exited" if status else "finished", status, "", seconds)


_SHELL_SIGNALS = frozenset(128 + number for number in (4, 6, 7, 8, 9, 11))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class IdleWatch:
    """Tells how long a process has computed nothing, by the kernel's accounts; 0.0 where there are none."""

    def __init__(self) -> None:
        self.ticks: dict[int, int] = {}
        self.since: dict[int, float] = {}

    def idle_seconds(self, pid: int, now: float) -> float:
        """Seconds for which the process used no processor time, waited for no disk and was not stopped."""
        ticks = _ticks(pid)
        if ticks is None or ticks != self.ticks.get(pid) or _is_busy(pid):
            self.ticks[pid], self.since[pid] = ticks or 0, now
        return now - self.since[pid]


def _ticks(pid: int) -> int | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
    return int(fields[11]) + int(fields[12])


def _is_busy(pid: int) -> bool:
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):
            if path.read_text().rsplit(")", 1)[1].split()[0] in ("D", "R", "T"):
                return True
    return False
