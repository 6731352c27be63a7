"""Programs of the soundness suite in child processes: a crash costs the program that crashed, not those behind it."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.plan import Plan
from jaxmigrate.migrate.project import plan_sources
from tests.flags import UNOPTIMISED

HERE = Path(__file__).parent
CHILD = HERE / "child.py"
FLAGS = (
    "--xla_force_host_platform_device_count=8",
    "--xla_cpu_collective_call_terminate_timeout_seconds=10",
    "--xla_cpu_collective_call_warn_stuck_timeout_seconds=5",
    *UNOPTIMISED,
)
Files = dict[str, str]
SILENCE = 240  # seconds in which a child says nothing, after which the program that it runs hangs
OBSERVER = "import main\n\nprint(main.RESULT)\n"


@dataclass(frozen=True, slots=True)
class Program:
    """A program of one or more files; `main.py` is the one that runs."""

    name: str
    files: Files
    careless: bool = False
    one_value: bool = False  # results that are said to be replicated hold the first device's value


def plan(files: Files) -> Plan:
    """What fix will do to a program by default, where another file of the project looks at its `RESULT`."""
    root = Path("/project")
    seen = {**files, "observer.py": OBSERVER}
    found, errors = plan_sources([(name, root / name, text) for name, text in seen.items()], PlanOptions("auto"))
    assert not errors
    assert_followed(found)
    kept = next(file for file in found.files if file.path == "observer.py")
    assert kept.after == OBSERVER
    return Plan(tuple(file for file in found.files if file is not kept))


def assert_followed(found: Plan) -> None:
    """Asserts that nothing went wrong in following a program, which leaves all that it maps stacked."""
    arrays = (array for site in found.sites for array in (*site.arguments, *site.outputs))
    assert not [array.reason for array in arrays if str(array.reason).startswith("following the program failed")]


def run_all(batches: Sequence[Sequence[Program]]) -> list[dict[str, dict[str, Any]]]:
    """The outcomes of each batch by name; the batches run side by side, each on 8 simulated devices of its own."""
    with ThreadPoolExecutor(len(batches)) as pool:
        return list(pool.map(run, batches))


def run(programs: Sequence[Program]) -> dict[str, dict[str, Any]]:
    """The outcome of each program by name."""
    found: dict[str, dict[str, Any]] = {}
    waiting = list(programs)
    while waiting:
        child = _IDLE.pop() if _IDLE else Child()
        lines, ending = child.lines(waiting)
        found |= {line["name"]: line for line in lines if "name" in line}
        if not ending and not _IDLE:
            _IDLE.append(child)
        else:
            child.end()
        if ending and lines and "begun" in lines[-1]:
            name = lines[-1]["begun"]
            found[name] = {"name": name, "result": None, "error": ending, "printed": ""}
        assert lines, ending
        waiting = [program for program in waiting if program.name not in found]
    return found


class Child:
    """A process that runs programs; one that has run some waits for those of the next test, as its start is dear."""

    def __init__(self) -> None:
        environment = {**os.environ, "XLA_FLAGS": " ".join(FLAGS), "NPROC": "64", "JAX_PLATFORMS": "cpu"}
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - it lives as long as the process
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [sys.executable, str(CHILD)], stdin=pipe, stdout=pipe, stderr=self._errors, text=True, env=environment
        )
        self._hung = threading.Event()

    def end(self) -> None:
        """Ends the process, if it still runs."""
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def lines(self, programs: Sequence[Program]) -> tuple[list[dict[str, Any]], str]:
        """The lines that the process prints of some programs, and if it ended before the last, how."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps([asdict(one) for one in programs]), file=self._process.stdin, flush=True)
        found: list[dict[str, Any]] = []
        while line := self._line():
            if line == {"done": len(programs)}:
                return found, ""
            found.append(line)
        status = self._process.wait()
        self._errors.seek(0)
        ending = "the process hung" if self._hung.is_set() else f"the process ended with status {status}"
        return found, f"{ending}: {self._errors.read()[-1500:]}"

    def _line(self) -> dict[str, Any]:
        """What the process prints next, or nothing once it has ended; one that is silent for too long is ended."""

        def end() -> None:
            self._hung.set()
            self._process.kill()

        assert self._process.stdout is not None
        timer = threading.Timer(SILENCE, end)
        timer.start()
        try:
            line = self._process.stdout.readline()
        finally:
            timer.cancel()
        found: dict[str, Any] = json.loads(line) if line.endswith("\n") else {}  # else it has ended within a line
        return found


_IDLE: list[Child] = []  # at most one


@atexit.register
def _end_idle() -> None:
    while _IDLE:
        _IDLE.pop().end()
