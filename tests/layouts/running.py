"""Programs of the soundness suite in child processes: a crash costs the program that crashed, not those behind it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxmigrate.migrate.plan import Plan
from jaxmigrate.migrate.project import plan_sources

HERE = Path(__file__).parent
CHILD = HERE / "child.py"
FLAGS = (
    "--xla_force_host_platform_device_count=8",
    "--xla_cpu_collective_call_terminate_timeout_seconds=10",
    "--xla_cpu_collective_call_warn_stuck_timeout_seconds=5",
)
Files = dict[str, str]
AT_ONCE = 60  # programs for one child: so that its time limit is about a program that hangs, not about their number
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
    found, errors = plan_sources([(name, root / name, text) for name, text in seen.items()], layout="auto")
    assert not errors
    assert found.files[-1].after == OBSERVER
    return Plan(found.files[:-1])


def run_all(batches: Sequence[Sequence[Program]]) -> list[dict[str, dict[str, Any]]]:
    """The outcomes of each batch by name; the batches run side by side, each on 8 simulated devices of its own."""
    with ThreadPoolExecutor(len(batches)) as pool:
        return list(pool.map(run, batches))


def run(programs: Sequence[Program]) -> dict[str, dict[str, Any]]:
    """The outcome of each program by name."""
    found: dict[str, dict[str, Any]] = {}
    waiting = list(programs)
    while waiting:
        lines, ending = _child(waiting[:AT_ONCE])
        found |= {line["name"]: line for line in lines if "name" in line}
        if lines and "begun" in lines[-1]:
            name = lines[-1]["begun"]
            found[name] = {"name": name, "result": None, "error": ending, "printed": ""}
        assert lines, ending
        waiting = [program for program in waiting if program.name not in found]
    return found


def _child(programs: Sequence[Program]) -> tuple[list[dict[str, Any]], str]:
    """The lines that a child printed before it ended, and how it ended."""
    given = json.dumps([{"name": p.name, "files": p.files, "careless": p.careless} for p in programs])
    environment = {**os.environ, "XLA_FLAGS": " ".join(FLAGS), "NPROC": "64", "JAX_PLATFORMS": "cpu"}
    child = subprocess.Popen(
        [sys.executable, str(CHILD)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        out, err = child.communicate(given, timeout=420)
        ending = f"the process ended with status {child.returncode}: {err[-1500:]}"
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
        ending = f"the process hung: {err[-1500:]}"
    return [json.loads(line) for line in out.splitlines()], ending
