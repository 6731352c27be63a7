"""Children are ended with everything they started, whatever they do, and so is a verification that is ended itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from jaxmigrate.verify.guard import name_of, sweep
from jaxmigrate.verify.process import IdleWatch, Outcome, Streams, carriers, run_child
from jaxmigrate.verify.workshop import hangs

REPOSITORY = Path(__file__).parents[2]


def never(seconds: float, session: int) -> str:
    return ""


def run(tmp_path: Path, program: str, timeout: float = 20.0, watch: Callable[[float, int], str] = never) -> Outcome:
    (tmp_path / "in").write_text("given")
    streams = Streams(tmp_path / "in", tmp_path / "out", tmp_path / "err")
    environment = {**os.environ, "JAXMIGRATE_VERIFY": str(tmp_path)}
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, "-S", "-c", program]
    return run_child(command, sys.executable, tmp_path, environment, streams, timeout, watch)


def gone(tmp_path: Path) -> bool:
    for _ in range(100):
        if not carriers(str(tmp_path)):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(
    ("program", "kind", "status", "name"),
    [
        ("pass", "finished", 0, ""),
        ("raise SystemExit(3)", "exited", 3, ""),
        ("import os; os.abort()", "signal", -6, "SIGABRT"),
        ("import os; os._exit(128 + 11)", "signal", 139, "SIGSEGV"),
        ("import os; os._exit(200)", "exited", 200, ""),
    ],
)
def test_endings_are_told_apart(tmp_path: Path, program: str, kind: str, status: int, name: str) -> None:
    outcome = run(tmp_path, program)
    assert (outcome.kind, outcome.status, outcome.signal) == (kind, status, name)


def test_streams_are_files(tmp_path: Path) -> None:
    run(tmp_path, "import sys; print(sys.stdin.read(), 'told'); print('warned', file=sys.stderr)")
    assert (tmp_path / "out").read_text() == "given told\n"
    assert (tmp_path / "err").read_text() == "warned\n"


def test_time_runs_out_although_sigterm_is_ignored(tmp_path: Path) -> None:
    program = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    outcome = run(tmp_path, program, timeout=0.5)
    assert outcome.kind == "timeout"
    assert outcome.seconds < 3
    assert gone(tmp_path)


def test_watch_ends_a_run(tmp_path: Path) -> None:
    outcome = run(tmp_path, "import time; time.sleep(60)", watch=lambda seconds, _: "deadlock" if seconds > 0.3 else "")
    assert outcome.kind == "deadlock"


@pytest.mark.parametrize("session", [False, True])
def test_what_a_child_leaves_running_is_ended(tmp_path: Path, session: bool) -> None:
    nested = f"subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session={session})"
    outcome = run(tmp_path, f"import subprocess, sys; {nested}")
    assert outcome.kind == "finished"
    assert gone(tmp_path)


def test_only_processes_without_work_are_idle() -> None:
    program = "import sys, time\nprint(flush=True)\nsys.stdin.readline()\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(0.1)
            watch = IdleWatch()
            started = time.monotonic()
            assert watch.idle_seconds(child.pid, 0.0) == 0.0
            while (now := time.monotonic() - started) < 2.0:
                idle = watch.idle_seconds(child.pid, now)
                time.sleep(0.1)
            assert idle > 1.0
            child.stdin.write(b"\n")
            child.stdin.flush()
            while watch.idle_seconds(child.pid, time.monotonic() - started) and now < 60.0:
                time.sleep(0.1)
                now = time.monotonic() - started
            assert now < 60.0
        finally:
            child.kill()


def test_thread_that_looks_around_is_no_work() -> None:
    program = "import time\nwhile True: time.sleep(0.05)"
    with subprocess.Popen([sys.executable, "-S", "-c", program]) as child:
        time.sleep(0.3)
        watch = IdleWatch()
        started = time.monotonic()
        longest = 0.0
        while longest <= 1.0 and (now := time.monotonic() - started) < 60.0:
            longest = max(longest, watch.idle_seconds(child.pid, now))
            time.sleep(0.2)
        child.kill()
        assert longest > 1.0


LOOKS = "import time\nwhile True: time.sleep(0.02)"
COMPUTES = "import os\nos.nice({})\nwhile True: pass"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs a processor that two programs share")
@pytest.mark.parametrize(("program", "idle"), [(LOOKS, True), (COMPUTES.format(19), False)], ids=["looks", "computes"])
def test_a_busy_machine_neither_hides_nor_feigns_a_hang(program: str, idle: bool) -> None:
    cpu = min(os.sched_getaffinity(0))
    beside = [subprocess.Popen([sys.executable, "-S", "-c", COMPUTES.format(0)]) for _ in range(2)]
    child = subprocess.Popen([sys.executable, "-S", "-c", program])
    try:
        for process in (*beside, child):
            os.sched_setaffinity(process.pid, {cpu})
        time.sleep(0.5)
        watch = IdleWatch()
        started = time.monotonic()
        longest = 0.0
        while (now := time.monotonic() - started) < 4.0:
            longest = max(longest, watch.idle_seconds(child.pid, now))
            time.sleep(0.1)
        assert longest > 3.0 if idle else longest < 2.0
    finally:
        for process in (*beside, child):
            process.kill()
            process.wait()


def test_process_that_waits_for_a_busy_child_is_not_hung(tmp_path: Path) -> None:
    waits = "import subprocess, sys; subprocess.run([sys.executable, '-S', '-c', {}])"
    found: list[bool] = []
    for program in (waits.format("'while True: pass'"), waits.format("'import time; time.sleep(60)'")):
        idle = IdleWatch()

        def watch(seconds: float, session: int, idle: IdleWatch = idle) -> str:
            hung = hangs(idle, [session], session, seconds, 0.6)
            return "deadlock" if hung or seconds > 4.0 else ""

        found.append(run(tmp_path, program, watch=watch).seconds < 4.0)
    assert found == [False, True]


VERIFIES = """
import pathlib, sys
from jaxmigrate.verify.model import VerifyRequest
from jaxmigrate.verify.run import verify
verify(VerifyRequest(pathlib.Path({root!r}), (sys.executable, "p.py"), {{}}, {{}}, ()))
"""
BEGINS = "import pathlib, time; pathlib.Path('began').touch(); time.sleep(60)"
# A process with a session of its own, which only its environment tells.
BEGINS_ANOTHER = f"""
import subprocess, sys
subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"], start_new_session=True)
{BEGINS}
"""


@contextmanager
def verifying(tmp_path: Path, program: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A verification in a process of its own whose program has begun, and its scratch folder."""
    root, scratch = tmp_path / "project", tmp_path / "scratch"
    for folder in (root, scratch):
        folder.mkdir(exist_ok=True)
    (root / "p.py").write_text(program)
    environment = {**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-c", VERIFIES.format(root=str(root))]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as child:
        for _ in range(500):
            if [*scratch.glob("*/tree/project/began")]:
                break
            time.sleep(0.02)
        (folder,) = scratch.iterdir()
        yield child, folder


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_verification_that_is_ended_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    with verifying(tmp_path, BEGINS) as (child, folder):
        token = str(folder / "runs" / "original-1" / "config.json")
        assert carriers(token)
        child.send_signal(number)
        assert child.wait(20) != 0
    assert carriers(token) == []
    assert [*folder.parent.iterdir()] == []


def left_by(folder: Path) -> list[str]:
    """The processes that name a scratch folder, and the folder itself if it is there."""
    found = [str(folder)] if folder.exists() else []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state = (path / "stat").read_bytes().rpartition(b")")[2].split()[0]
            told = (path / "environ").read_bytes() + (path / "cmdline").read_bytes()
            if str(folder).encode() in told and state != b"Z":
                found.append(path.name)
    return found


@pytest.mark.parametrize("program", [BEGINS, BEGINS_ANOTHER], ids=["one", "another"])
@pytest.mark.parametrize("attempt", range(3))
def test_verification_that_is_killed_leaves_nothing(tmp_path: Path, program: str, attempt: int) -> None:
    with verifying(tmp_path, program) as (child, folder):
        time.sleep(0.1 * attempt)
        child.kill()
        child.wait()
        deadline = time.monotonic() + 5.0
        while left_by(folder) and time.monotonic() < deadline:
            time.sleep(0.05)
    assert left_by(folder) == []


def test_what_a_killed_verification_left_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    owners = {
        "jaxmigrate-dead": "4194304 1",
        "jaxmigrate-alive": f"{os.getpid()}",
        "jaxmigrate-other": None,
        "x-dead": "4194304 1",
    }
    for name, owner in owners.items():
        (tmp_path / name / "tree").mkdir(parents=True)
        (tmp_path / name / "tree").chmod(0o500)
        if owner is not None:
            (tmp_path / name / "owner").write_text(name_of(os.getpid()) if owner == f"{os.getpid()}" else owner)
    sweep()
    assert {path.name for path in tmp_path.iterdir()} == {*owners} - {"jaxmigrate-dead"}
