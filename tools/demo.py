"""`make demo`: lints, fixes and verifies a training program, and says at each step what it does.

The program is copied to demo/program first, so that fixtures/ stays as it is. The steps are the very commands that a
user types, run in that folder.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ORIGINAL = ROOT / "fixtures" / "demo" / "before"
DEMO = ROOT / "demo"
PROGRAM = DEMO / "program"
# `python` must be the interpreter that has JAX, whether or not its environment is activated.
ENVIRONMENT = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
CONFIGURATION = '[tool.jaxmigrate.verify]\ncommand = "python train.py"\n'


def main() -> int:
    """Runs the demonstration; 0 if the verification agreed, else 1."""
    shutil.rmtree(DEMO, ignore_errors=True)
    shutil.copytree(ORIGINAL, PROGRAM, ignore=shutil.ignore_patterns("__pycache__"))
    if not (PROGRAM / "pyproject.toml").exists():
        (PROGRAM / "pyproject.toml").write_text(CONFIGURATION)
    step("1. What is wrong with it? (Some mistakes were planted; JAX is not even imported for this.)", "lint", ".")
    step("2. What would its migration from jax.pmap to jax.shard_map look like?", "fix", ".", "--diff")
    step("3. Migrate it.", "fix", ".")
    reports = ["--report", "../report.html", "--report", "../report.json"]
    title = "4. Does it compute the same? Both programs run on 8 simulated devices; every mapped call is compared."
    status = step(title, "verify", ".", "--original", str(ORIGINAL), *reports)
    print(f"\nThe evidence: {DEMO / 'report.html'}\nThe migrated program: {PROGRAM}")
    return 1 if status else 0


def step(title: str, *arguments: str) -> int:
    """Announces and runs one jaxmigrate command in the program's folder, and returns its exit status."""
    print(f"\n=== {title}\n$ jaxmigrate {shlex.join(arguments)}\n", flush=True)
    started = time.monotonic()
    command = [sys.executable, "-m", "jaxmigrate", *arguments]
    status = subprocess.run(command, cwd=PROGRAM, env=ENVIRONMENT, check=False).returncode
    print(f"\n(exit status {status}, {time.monotonic() - started:.1f} s)", flush=True)
    if status not in (0, 1):
        raise SystemExit(f"The demonstration stopped: jaxmigrate {arguments[0]} could not do its work.")
    return status


if __name__ == "__main__":
    sys.exit(main())
