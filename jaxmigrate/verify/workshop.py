"""The scratch folder of one verification and the runs made in it; nothing of either is left when it closes.

Every run finds its copy of the project at the same path, so that two runs differ in nothing but the program.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from types import FrameType
from typing import Any

from jaxmigrate.verify import environment as env
from jaxmigrate.verify.gpus import FLAGS
from jaxmigrate.verify.guard import PREFIX, Guard, guarded, remove, sweep
from jaxmigrate.verify.keep import Wanted
from jaxmigrate.verify.messages import describe_run, of_the_project, tail
from jaxmigrate.verify.model import CPU, GPU, ORIGINAL, Progress, RunSummary, SiteInfo, VerifyRequest, run_name
from jaxmigrate.verify.process import IdleWatch, Outcome, Streams, run_child
from jaxmigrate.verify.recording import Recording
from jaxmigrate.verify.scratch import copy_tree
from jaxmigrate.verify.written import put_aside, stamps

KEEP_FIRST = 2
OF_JAX = ("jax", "jaxlib", "numpy", "platform", "processes", "xla_flags")
_CHILD_FILES = "jaxmigrate.verify.child"
_LAUNCHER = "jaxmigrate_child.launch"
# Before its time is up, a program is given a moment to say what it is doing.
_LAST_WORDS_SECONDS = 1.0

ProgressCallback = Callable[[Progress], None]


@dataclass(frozen=True)
class Run:
    """One finished run: how it went, what it recorded, what it printed, the files that it wrote.

    `everything` is the recording with what is compared with nothing.
    """

    summary: RunSummary
    recording: Recording
    stdout: Path
    stderr: Path
    files: Path
    enclosing: bool = False
    everything: Recording | None = None


@dataclass(frozen=True)
class How:
    """How a side is run.

    `wanted` are the calls whose arrays to keep, None for the first ones. With `enclosing`, functions that the program
    compiles itself are recorded too, for the sites inside them. With `nudge`, what is given to mapped calls is moved by
    one rounding. `names` are those of what the original maps.
    """

    wanted: Wanted | None = None
    enclosing: bool = False
    nudge: bool = False
    names: tuple[str, ...] = ()


_PLAINLY = How()


@dataclass(frozen=True)
class Workshop:
    """Makes the runs of one request below `folder`."""

    request: VerifyRequest
    folder: Path
    progress: ProgressCallback
    guard: Guard

    @property
    def boot(self) -> Path:
        """The folder that makes every Python below it load the recorder."""
        return self.folder / "boot"

    def run(self, side: str, attempt: int, expected: int | None, how: How = _PLAINLY) -> Run:
        """Run one side from a fresh copy."""
        name = run_name(side, attempt, how.nudge)
        self.progress(Progress("copying", name))
        folder = _fresh(self.folder / "runs" / f"{side}-{attempt}{'-nudged' if how.nudge else ''}")
        for part in ("records", "arrays"):
            (folder / part).mkdir(parents=True)
        places = env.Places(
            root=self.request.root,
            copy=self.folder / "tree" / (self.request.root.name or "root"),
            boot=self.boot,
            config=folder / "config.json",
            temporary=self.folder / "tmp",
        )
        _empty(self.folder / "tree")
        _empty(places.temporary)
        marked = self.request.original if side == ORIGINAL else self.request.migrated
        links = copy_tree(places.root, places.copy, marked).links
        everything = self.request.unmarked or (self.request.by_hand and side != ORIGINAL)
        enclosing = "sharded" if self.request.others else "jit"
        watch = "all" if everything else enclosing if how.enclosing else ""
        config = self._config(side, folder, places, how.wanted, [str(link) for link in links])
        places.config.write_text(json.dumps({**config, "watch": watch, "nudge": how.nudge, "names": how.names}))
        before = stamps(places.copy)
        run = self._start(side, name, places, folder, expected)
        put_aside(places.copy, before, run.files)
        summary = replace(run.summary, attempt=attempt, nudged=how.nudge)
        return replace(run, summary=summary, enclosing=how.enclosing)

    def _config(
        self, side: str, folder: Path, places: env.Places, wanted: Wanted | None, links: list[str]
    ) -> dict[str, Any]:
        request = self.request
        return {
            "original": side == ORIGINAL,
            "records": str(folder / "records"),
            "arrays": str(folder / "arrays"),
            "keep": wanted,
            "keep_first": KEEP_FIRST,
            "keep_bytes": request.keep_bytes if wanted is not None else request.keep_bytes // 4,
            "root": str(places.root),
            "copy": str(places.copy),
            "marked": sorted({*request.original, *request.migrated}),
            "links": links,
            "flags": [*FLAGS] if request.platform == GPU else env.cpu_flags(request),
            "flag_cache": str(self.folder / "flags.json"),
            "compiled": str(compiled_in(self.folder)) if _compiles_alike(request) else "",
            "seed": request.seed,
            "observe": request.observe and side == ORIGINAL,
            "devices": request.devices,
            "deadline": time.time() + request.timeout - _LAST_WORDS_SECONDS,
        }

    def _start(self, side: str, name: str, places: env.Places, folder: Path, expected: int | None) -> Run:
        python = self.request.original_python if side == ORIGINAL else ""
        if python:
            env.put_interpreter(self.boot, python)
        variables = env.child_environment(self.request, places, python)
        cwd = places.copy / self.request.cwd
        command = env.led_into_copy(self.request.command, self.request.root / self.request.cwd, places)
        streams = Streams(self.folder / "stdin", folder / "stdout", folder / "stderr")
        recording = Recording(folder)
        watch = self._watch(name, recording, expected)
        executable = env.executable(command, variables, cwd)
        if self.request.processes > 1:
            command = [sys.executable, "-m", _LAUNCHER, f"{self.request.processes}", executable, *command]
            executable = sys.executable
        outcome = run_child(command, executable, cwd, variables, streams, self.request.timeout, watch, self.guard)
        recording.read_on()
        self.progress(Progress("ran", name, recording.count(), expected, "", outcome.seconds))
        sites = {site.id: site for site in self.request.sites}
        summary = summarise(side, outcome, recording, sites, streams, self.request.timeout)
        return Run(summary, recording, streams.stdout, streams.stderr, folder / "files")

    def _watch(self, name: str, recording: Recording, expected: int | None) -> Callable[[float, int], str]:
        """What looks after a run: reads its log, tells its progress, and says when it hangs."""
        idle, calm = IdleWatch(), Calm()

        def watch(seconds: float, session: int) -> str:
            recording.read_on()
            last = recording.last_call()
            site = last.site if last is not None else ""
            self.progress(Progress("running", name, recording.count(), expected, site, seconds))
            flying = [(log.pid, call.order) for log, call in recording.in_flight()]
            if not calm.is_worth_a_look(flying, seconds):
                return ""
            pids = [pid for pid, _ in flying]
            return "deadlock" if hangs(idle, pids, session, seconds, self.request.idle_timeout) else ""

        return watch


def _fresh(folder: Path) -> Path:
    """The folder, or one beside it where another rewrite of the program has had that."""
    number = 1
    found = folder
    while found.exists():
        number += 1
        found = folder.with_name(f"{folder.name}-{number}")
    return found


def compiled_in(folder: Path) -> Path:
    """Where in its folder a verification keeps what XLA compiles."""
    return folder / "compiled"


def _compiles_alike(request: VerifyRequest) -> bool:
    """Whether the runs may share what XLA compiles: one process of one JAX, for simulated devices."""
    return request.platform == CPU and request.processes == 1 and not request.original_python


# Looking at all threads of a program takes tens of milliseconds, and most calls are over by then.
_CALM_SECONDS = 1.0
_LOOK_EVERY_SECONDS = 0.5


class Calm:
    """Tells when to look closer: once the same calls have been running for a while, and twice a second from then on."""

    def __init__(self) -> None:
        self.flying: list[tuple[int, int]] = []
        self.since = 0.0
        self.looked = 0.0

    def is_worth_a_look(self, flying: list[tuple[int, int]], now: float) -> bool:
        """Whether the calls, each a process and a number, may hang for all that is known."""
        if flying != self.flying:
            self.flying, self.since = flying, now
        if not flying or now - self.since < _CALM_SECONDS or now - self.looked < _LOOK_EVERY_SECONDS:
            return False
        self.looked = now
        return True


def hangs(idle: IdleWatch, flying: list[int], session: int, seconds: float, limit: float) -> bool:
    """Whether every process that is in a mapped call, and every other one it might wait for, has stopped computing."""
    waited = min(idle.idle_seconds(pid, seconds) for pid in flying)
    return waited > limit / 2 and idle.session_idle_seconds(session, seconds) > limit / 2 and waited > limit


def summarise(
    side: str,
    outcome: Outcome,
    recording: Recording,
    sites: dict[str, SiteInfo],
    streams: Streams,
    timeout: float,
) -> RunSummary:
    """How a run went, as plain data."""
    stderr, stdout = (stream.read_text(errors="replace") for stream in (streams.stderr, streams.stdout))
    last = recording.last_call()
    return RunSummary(
        side=side,
        attempt=1,
        outcome=outcome.kind,
        message=describe_run(f"{side} program", outcome, recording, sites, stderr, timeout, stdout),
        exit_status=outcome.status,
        signal=outcome.signal,
        seconds=outcome.seconds,
        calls=sum(not call.traced for call in recording.calls()),
        traced=sum(len(log.traced) for log in recording.ordered()),
        devices=next((log.jax["devices"] for log in recording.ordered() if log.jax), None),
        versions=_versions(recording),
        files=recording.files(),
        in_flight=tuple(call.in_flight() for _, call in recording.in_flight()),
        last_call=last.in_flight() if last is not None else None,
        stdout_tail=tail(stdout),
        stderr_tail=tail(of_the_project(stderr)),
        stack=tail(recording.stack()) if outcome.kind == "timeout" else "",
    )


def _versions(recording: Recording) -> dict[str, str]:
    for log in recording.ordered():
        if log.jax:
            found = {name: str(log.jax[name]) for name in OF_JAX}
            return {"python": log.facts["python"], **found, "executable": log.facts["executable"]}
    return {}


def _empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


@contextmanager
def open_workshop(request: VerifyRequest, progress: ProgressCallback) -> Iterator[Workshop]:
    """A workshop whose folder is removed at the end, also when a signal ends the verification."""
    sweep()
    with _signals_as_exceptions():
        folder = Path(os.path.realpath(tempfile.mkdtemp(prefix=PREFIX)))
        with guarded(folder) as guard:
            try:
                _lay_out(folder, request)
                yield Workshop(request, folder, progress, guard)
            finally:
                remove(folder)


def _lay_out(folder: Path, request: VerifyRequest) -> None:
    (folder / "stdin").write_bytes(request.stdin)
    package = folder / "boot" / "jaxmigrate_child"
    package.mkdir(parents=True)
    for source in resources.files(_CHILD_FILES).iterdir():
        if source.name.endswith(".py"):
            place = package.parent if source.name == "sitecustomize.py" else package
            (place / source.name).write_bytes(source.read_bytes())


@contextmanager
def _signals_as_exceptions() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the stack as Ctrl-C does, so that children and scratch are cleaned up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.SIGTERM, signal.SIGHUP]
    before = [signal.signal(number, _leave) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _leave(number: int, _: FrameType | None) -> None:
    raise SystemExit(128 + number)
