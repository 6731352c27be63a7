"""Programs of the soundness suite in child processes: a crash costs the program that crashed, not those behind it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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


def plan(files: Files) -> Plan:
    """What fix will do to a program by default, where another file of the project looks at its `RESULT`."""
    root = Path("/project")
    seen = {**files, "observer.py": OBSERVER}
    found, errors = plan_sources([(name, root / name, text) for name, text in seen.items()], PlanOptions("auto"))
    assert not errors
    kept = next(file for file in found.files if file.path == "observer.py")
    assert kept.after == OBSERVER
    return Plan(tuple(file for file in found.files if file is not kept))


def run_all(batches: Sequence[Sequence[Program]]) -> list[dict[str, dict[str, Any]]]:
    """The outcomes of each batch by name; the batches run side by side, each on 8 simulated devices of its own."""
    with ThreadPoolExecutor(len(batches)) as pool:
        return list(pool.map(run, batches))


def run(programs: Sequence[Program]) -> dict[str, dict[str, Any]]:
    """The outcome of each program by name."""
    found: dict[str, dict[str, Any]] = {}
    waiting = list(programs)
    while waiting:
        lines, ending = _child(waiting)
        found |= {line["name"]: line for line in lines if "name" in line}
        if lines and "begun" in lines[-1]:
            name = lines[-1]["begun"]
            found[name] = {"name": name, "result": None, "error": ending, "printed": ""}
        assert lines, ending
        waiting = [program for program in waiting if program.name not in found]
    return found


def _child(programs: Sequence[Program]) -> tuple[list[dict[str, Any]], str]:
    """The lines that a child printed before it ended, and how it ended."""
    environment = {**os.environ, "XLA_FLAGS": " ".join(FLAGS), "NPROC": "64", "JAX_PLATFORMS": "cpu"}
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as errors:
        json.dump([{"name": p.name, "files": p.files, "careless": p.careless} for p in programs], given)
        given.seek(0)
        child = subprocess.Popen(
            [sys.executable, str(CHILD)], stdin=given, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
        )
        hung = threading.Event()
        with child:
            lines = [json.loads(line) for line in _lines(child, hung)]
        errors.seek(0)
        ending = "the process hung" if hung.is_set() else f"the process ended with status {child.returncode}"
        return lines, f"{ending}: {errors.read()[-1500:]}"


def _lines(child: subprocess.Popen[str], hung: threading.Event) -> Iterator[str]:
    """What a child prints, line by line; one that is silent for too long is ended."""

    def end() -> None:
        hung.set()
        child.kill()

    assert child.stdout is not None
    while True:
        timer = threading.Timer(SILENCE, end)
        timer.start()
        try:
            line = child.stdout.readline()
        finally:
            timer.cancel()
        if not line.endswith("\n"):  # it has ended, perhaps in the middle of a line
            return
        yield line
