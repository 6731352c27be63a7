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
from typing import NamedTuple

from jaxmigrate.verify.guard import Guard

POLL_SECONDS = 0.1
GRACE_SECONDS = 1.0
# Hundredths of a second of processor time, at once and in a second, that a thread which only looks around may use.
_SLACK_TICKS = 2
# A process that was runnable for more than this share of a window was at work, or kept from it by other programs.
_WINDOW_SECONDS = 0.5
_BUSY_SHARE = 0.5
_SCHEDSTAT = Path("/proc/self/schedstat")


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
    guard: Guard | None = None,
) -> Outcome:
    """Run a command in a session of its own until it ends, its time is up, or `watch` says what is wrong with it.

    `watch` is called about ten times a second with the seconds since the start and the number of the session; any text
    but the empty one ends the run and becomes the outcome's kind.
    """
    started = time.monotonic()
    with _started(command, executable, cwd, environment, streams, guard or Guard(None)) as child:
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
    command: list[str], executable: str, cwd: Path, environment: Mapping[str, str], streams: Streams, guard: Guard
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
        guard.add(child.pid)
        try:
            yield child
        finally:
            end_group(child, environment["JAXMIGRATE_VERIFY"])
            guard.drop(child.pid)


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


class _Account(NamedTuple):
    """What the kernel says of one or several processes, so far.

    `used` is processor time in hundredths of a second; `wanted`, in nanoseconds and for each thread by its place, adds
    the time that it spent waiting for a processor.
    """

    used: int
    wanted: Mapping[str, int]


@dataclass
class _Idle:
    """Since when nothing was computed, and up to when that is known."""

    since: float
    account: _Account | None
    until: float
    wanted: Mapping[str, int]


class IdleWatch:
    """Tells how long processes have computed nothing, by the kernel's accounts; where there are none, never."""

    def __init__(self) -> None:
        self.seen: dict[int, _Idle] = {}

    def idle_seconds(self, pid: int, now: float) -> float:
        """Seconds for which the process used no processor time, waited for none and no disk, and was not stopped."""
        return self._idle_seconds(pid, [pid], now)

    def session_idle_seconds(self, session: int, now: float) -> float:
        """The same for all processes of a session together, counted from the first time that this is asked."""
        return self._idle_seconds(-session, _members(session), now)

    def _idle_seconds(self, key: int, pids: list[int], now: float) -> float:
        account = _account(pids)
        idle = self.seen.get(key)
        if idle is None or account is None or idle.account is None or _has_computed(idle, account, now):
            idle = self.seen[key] = _Idle(now, account, now, account.wanted if account else {})
        elif now - idle.until >= _WINDOW_SECONDS:
            idle.until, idle.wanted = now, account.wanted
        return idle.until - idle.since


def _has_computed(idle: _Idle, account: _Account, now: float) -> bool:
    """Whether processes computed, or would have if other programs had left them a processor.

    A thread that looks around ten times a second is runnable for moments, longer ones on a busy machine: what counts
    is the share of the last half second for which any one was, not what one look at their states finds, nor the sum.
    """
    assert idle.account is not None
    if account.used - idle.account.used > _SLACK_TICKS + _SLACK_TICKS * (now - idle.since):
        return True
    window = now - idle.until
    if window < _WINDOW_SECONDS:
        return False
    longest = max((wanted - idle.wanted.get(thread, 0) for thread, wanted in account.wanted.items()), default=0)
    return longest > _BUSY_SHARE * window * 1e9


def _account(pids: list[int]) -> _Account | None:
    """The sum over processes; None where one of them waits for a disk, is stopped, or the kernel tells nothing."""
    accounts = [None if _is_held(pid) else _ticks(pid) for pid in pids]
    known = [used for used in accounts if used is not None]
    wanted = {thread: wanted for pid in pids for thread, wanted in _wanted(pid)}
    return _Account(sum(known), wanted) if len(known) == len(accounts) else None


def _stat(pid: int) -> list[str]:
    """The fields of the kernel's account of a process from its state on; empty if there is none."""
    try:
        return _read(f"/proc/{pid}/stat").rpartition(b")")[2].decode().split()
    except OSError:
        return []


def _ticks(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[11]) + int(fields[12]) if fields else None


def _members(session: int) -> list[int]:
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if _stat(pid)[3:4] == [str(session)]]


def _wanted(pid: int) -> Iterator[tuple[str, int]]:
    """For each thread of a process the nanoseconds for which it ran or waited for a processor."""
    for thread in _threads(pid):
        with suppress(OSError, ValueError, IndexError):
            ran, waited = _read(f"{thread}/schedstat").split()[:2]
            yield thread, int(ran) + int(waited)


def _is_held(pid: int) -> bool:
    """Whether a thread waits for a disk or is stopped; without accounts of waiting, whether one is runnable."""
    held = (b"D", b"T") if _SCHEDSTAT.exists() else (b"D", b"R", b"T")
    for thread in _threads(pid):
        with suppress(OSError):
            if _read(f"{thread}/stat").rpartition(b")")[2].split(None, 1)[0] in held:
                return True
    return False


def _threads(pid: int) -> Iterator[str]:
    """Where the kernel tells of the threads of a process; a program on eight devices has two hundred."""
    folder = f"/proc/{pid}/task"
    with suppress(OSError):
        yield from (f"{folder}/{name}" for name in os.listdir(folder))


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 1 << 12)
    finally:
        os.close(descriptor)
