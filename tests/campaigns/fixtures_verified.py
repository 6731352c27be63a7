"""Verifies the rewrite of every program in fixtures/, in both layouts, on 8 devices and on 2 processes of 4.

    python tests/campaigns/fixtures_verified.py [--only NAME...] [--layout auto stacked] [--processes 1 2]
                                                [--timeout 600]

The command of a program is the line of its README that starts with `python`. Prints a row for each verification: the
verdict, the sites that were compared, the calls, and the seconds. Exit status 1 where one is not bitwise equal, unless
the original itself does not run on two processes.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FIXTURES = Path(__file__).parents[2] / "fixtures"
COMMAND = re.compile(r"^ {4}(python .*)$", re.MULTILINE)
DEVICES = 8


def command_of(name: str) -> list[str]:
    """The command in a fixture's README; empty where it has none."""
    found = COMMAND.search((FIXTURES / name / "README.md").read_text(encoding="utf-8"))
    return [sys.executable, *shlex.split(found[1])[1:]] if found else []


def verified(name: str, layout: str, processes: int, timeout: float) -> dict[str, object]:
    """What `jaxmigrate verify` says of one rewrite."""
    with tempfile.TemporaryDirectory() as folder:
        after, report = Path(folder, "after"), Path(folder, "report.json")
        shutil.copytree(FIXTURES / name / "before", after)
        shutil.copytree(FIXTURES / name / layout, after, dirs_exist_ok=True)
        shared = ["--processes", str(processes), "--devices", str(DEVICES // processes), "--timeout", str(timeout)]
        command = [sys.executable, "-m", "jaxmigrate", "verify", ".", "--original", str(FIXTURES / name / "before")]
        child = subprocess.run(
            [*command, *shared, "--report", str(report), "--", *command_of(name)],
            cwd=after,
            capture_output=True,
            text=True,
            check=False,
        )
        last = (child.stdout.strip().splitlines() or child.stderr.strip().splitlines() or [""])[-1]
        told = json.loads(report.read_text()) if report.exists() else {}
        return {"exit": child.returncode, "last": last, "verdict": told.get("verdict", "")}


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--layout", nargs="+", default=["auto", "stacked"], choices=["auto", "stacked"])
    parser.add_argument("--processes", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--timeout", type=float, default=600)
    options = parser.parse_args()
    names = sorted(path.parent.name for path in FIXTURES.glob("*/before"))
    bad = 0
    print("| program | layout | processes | exit | seconds | last line |\n|---|---|---:|---:|---:|---|")
    for name in (n for n in names if command_of(n) and (options.only is None or n in options.only)):
        for layout in options.layout:
            for processes in options.processes:
                started = time.monotonic()
                found = verified(name, layout, processes, options.timeout)
                seconds = time.monotonic() - started
                bad += found["exit"] != 0
                print(
                    f"| {name} | {layout} | {processes} | {found['exit']} | {seconds:.0f} | {found['last']} |",
                    flush=True,
                )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
