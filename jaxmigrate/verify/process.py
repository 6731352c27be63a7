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
# Hundredths of a second of processor time, at once and in a second, that a thread which only looks around may use.
_SLACK_TICKS = 2


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
    watch: Callable[[float, int], str],
) -> Outcome:
    """Run a command in a session of its own until it ends, its time is up, or `watch` says what is wrong with it.

    `watch` is called about ten times a second with the seconds since the start and the number of the session; any text
    but the empty one ends the run and becomes the outcome's kind.
    """
    started = time.monotonic()
    with _started(command, executable, cwd, environment, streams) as child:
        while True:
            with suppress(subprocess.TimeoutExpired):
                status = child.wait(POLL_SECONDS)
                watch(time.monotonic() - started, child.pid)
                return _ended(status, time.monotonic() - started)
            seconds = time.monotonic() - started
            kind = "timeout" if seconds > timeout else watch(seconds, child.pid)
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
    """Tells how long processes have computed nothing, by the kernel's accounts; where there are none, never."""

    def __init__(self) -> None:
        self.used: dict[int, int | None] = {}
        self.since: dict[int, float] = {}

    def idle_seconds(self, pid: int, now: float) -> float:
        """Seconds for which the process used no processor time, waited for no disk and was not stopped."""
        return self._unchanged(pid, None if _is_busy(pid) else _ticks(pid), now)

    def session_idle_seconds(self, session: int, now: float) -> float:
        """The same for all processes of a session together, counted from the first time that this is asked."""
        ticks = [None if _is_busy(pid) else _ticks(pid) for pid in _members(session)]
        known = [number for number in ticks if number is not None]
        return self._unchanged(-session, sum(known) if len(known) == len(ticks) else None, now)

    def _unchanged(self, key: int, used: int | None, now: float) -> float:
        before = self.used.get(key)
        slack = _SLACK_TICKS + _SLACK_TICKS * (now - self.since.get(key, now))
        if used is None or before is None or used - before > slack:
            self.used[key], self.since[key] = used, now
        return now - self.since[key]


def _stat(pid: int) -> list[str]:
    """The fields of the kernel's account of a process from its state on; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return []


def _ticks(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[11]) + int(fields[12]) if fields else None


def _members(session: int) -> list[int]:
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if _stat(pid)[3:4] == [str(session)]]


def _is_busy(pid: int) -> bool:
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):
            if path.read_text().rsplit(")", 1)[1].split()[0] in ("D", "R", "T"):
                return True
    return False
