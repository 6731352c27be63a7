"""Runs `fix --observe` on programs: what is global by proof and with what a run shows, and what that costs.

    python tests/campaigns/observed.py [--only NAME...]            the programs in fixtures/, as their READMEs run them
    python tests/campaigns/observed.py --folder DIR -- COMMAND...  another program

Prints a row for each: global and stacked arrays by proof and when observed, what was observed, the groups of each run,
the verdict, and seconds of processor time and by the clock, each beside two plain runs of the original.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

FIXTURES = Path(__file__).parents[2] / "fixtures"
COMMAND = re.compile(r"^ {4}(python .*)$", re.MULTILINE)
DEVICES = 8
HEADINGS = ("program", "sites", "proof: global, stacked", "observed: global, stacked", "observed", "groups", "verdict")
RUN = re.compile(r"(\d+) groups? of arrays rests? on observation, run (\d+)")
PLAIN = {
    "XLA_FLAGS": f"--xla_force_host_platform_device_count={DEVICES}",
    "JAX_PLATFORMS": "cpu",
    "NPROC": "64",
}


class Cost(NamedTuple):
    """Seconds of processor time and by the clock."""

    processor: float
    clock: float

    def __str__(self) -> str:
        return f"{self.processor:.0f} ({self.clock:.0f})"


def command_of(name: str) -> list[str]:
    """The command in a fixture's README; empty where it has none."""
    found = COMMAND.search((FIXTURES / name / "README.md").read_text(encoding="utf-8"))
    return [sys.executable, *shlex.split(found[1])[1:]] if found else []


def timed(command: list[str], folder: Path, more: dict[str, str]) -> tuple[subprocess.CompletedProcess[str], Cost]:
    """Runs a command, and says what it cost."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    child = subprocess.run(command, cwd=folder, env={**os.environ, **more}, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return child, Cost(processor, time.monotonic() - started)


def fixed(source: Path, command: list[str], *options: str) -> tuple[dict[str, Any], str, Cost]:
    """The report of `fix` on a copy of a program, what it told meanwhile, and the cost."""
    with tempfile.TemporaryDirectory() as folder:
        program, report = Path(folder, source.name), Path(folder, "report.json")
        shutil.copytree(source, program)
        run = ["--", *command] if "--observe" in options else []
        fix = [sys.executable, "-m", "jaxmigrate", "fix", ".", *options, "--report", str(report), *run]
        child, cost = timed(fix, program, {})
        return json.loads(report.read_text()) if report.exists() else {}, child.stderr, cost


def plainly(source: Path, command: list[str]) -> tuple[bool, Cost]:
    """Whether a program runs by itself, and the cost of that."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, source.name)
        shutil.copytree(source, program)
        child, cost = timed(command, program, PLAIN)
        return child.returncode == 0, cost


def layouts(report: dict[str, Any]) -> Counter[str]:
    """How many arrays are global, stacked, observed."""
    arrays = [one for site in report.get("sites", ()) for one in (*site["arguments"], *site["outputs"])]
    found = Counter("global" if one["layout"] in ("replicated", "split") else one["layout"] for one in arrays)
    found["observed"] = sum(one.get("grade") == "observed" for one in arrays)
    return found


def row(name: str, source: Path, command: list[str]) -> list[str]:
    """What is told of one program: its row, and what was observed and left."""
    runs, plain = plainly(source, command)
    if not runs:
        return [f"| {name} | does not run by itself |"]
    proof, _, _ = fixed(source, command, "--check")
    report, told, cost = fixed(source, command, "--observe")
    by_proof, found = layouts(proof), layouts(report)
    verification = report.get("verification") or {}
    tried = ", ".join(f"{groups} in run {run}" for groups, run in RUN.findall(told)) or "none"
    verdict = verification.get("verdict", told.strip().splitlines()[-1:] or "no report")
    twice = Cost(2 * plain.processor, 2 * plain.clock)
    cells = (
        *(name, len(report.get("sites", ())), f"{by_proof['global']}, {by_proof['stacked']}"),
        *(f"{found['global']}, {found['stacked']}", found["observed"], tried, verdict, cost, twice),
    )
    return [
        f"| {' | '.join(map(str, cells))} |",
        *(f"    {one['grade']}: {one['says']} ({one['path']}:{one['line']})" for one in report.get("assumptions", ())),
        *(
            f"    {note}"
            for note in verification.get("notes", ())
            if note.startswith("kept stacked in spite of what the run showed")
        ),
    ]


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("program", nargs="*")
    options = parser.parse_args()
    if options.folder is not None:
        programs = [(options.folder.resolve().name, options.folder.resolve(), options.program)]
    else:
        names = sorted(path.parent.name for path in FIXTURES.glob("*/before"))
        wanted = [n for n in names if command_of(n) and (options.only is None or n in options.only)]
        programs = [(name, FIXTURES / name / "before", command_of(name)) for name in wanted]
    print(f"| {' | '.join((*HEADINGS, 's', 'two plain runs'))} |\n|{'---|' * (len(HEADINGS) + 2)}")
    for name, source, command in programs:
        print("\n".join(row(name, source, command)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
