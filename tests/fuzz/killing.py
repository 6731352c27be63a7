"""Kills a large fix at random moments, most of them while it writes, and looks whether every file is whole.

    python tests/fuzz/killing.py [--seed 0] [--rounds 30] [--files 300]

Of four kills one comes at any moment of the run, and three right after some file, any of them, has been replaced. After
each kill every file holds what it held before or what a whole run makes of it, byte for byte; what a killed run leaves
beside them is counted. A last run without a kill then finishes the work. Prints how many files were rewritten at each
kill; 1 where a file was neither.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # a script's own folder is all that Python would look in

from jaxmigrate.migrate import fix_files

PROGRAM = """import jax


def step_{n}(x):
    return jax.lax.pmean(x, "i")  # {padding}


p_step_{n} = jax.pmap(step_{n}, axis_name="i")
"""
LOOKS_EVERY, A_FEW_FILES = 0.0005, 0.005  # seconds
COMMAND = (sys.executable, "-m", "jaxmigrate", "fix", "--layout", "stacked")


def write(folder: Path, count: int) -> dict[str, tuple[bytes, bytes]]:
    """Writes files; by name, what each holds before and after a whole run."""
    before = {f"part{n % 7}/file_{n}.py": PROGRAM.format(n=n, padding="x" * (n * 37 % 5000)) for n in range(count)}
    after = fix_files(before)
    for name, text in before.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return {name: (text.encode(), after[name].encode()) for name, text in before.items()}


def begin(folder: Path) -> subprocess.Popen[bytes]:
    """Starts a run."""
    return subprocess.Popen([*COMMAND, str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def kill_in(child: subprocess.Popen[bytes], seconds: float) -> None:
    """Kills a run after so long, if it is not done."""
    try:
        child.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGKILL)
        child.wait()


def wait_for_a_change(child: subprocess.Popen[bytes], path: Path) -> None:
    """Waits until a file has been replaced by another, or the run is done."""
    before = path.stat().st_ino
    while child.poll() is None and path.stat().st_ino == before:
        time.sleep(LOOKS_EVERY)


def state(folder: Path, known: dict[str, tuple[bytes, bytes]]) -> tuple[int, list[str], int]:
    """How many files are rewritten, which are neither as before nor as after, and how many others lie about."""
    rewritten, broken = 0, []
    for name, (before, after) in known.items():
        found = (folder / name).read_bytes()
        rewritten += found == after
        if found not in (before, after):
            broken.append(name)
    others = sum(path.is_file() for path in folder.rglob("*")) - len(known)
    return rewritten, broken, others


def rounds(seed: int, count: int, files: int) -> tuple[list[int], list[str], int]:
    """Kills runs over fresh copies; the rewritten files of each, what was broken, and what was left lying about."""
    random_, counts, broken, left = random.Random(seed), [], [], 0
    with tempfile.TemporaryDirectory() as home:
        original = Path(home) / "original"
        known = write(original, files)
        started = time.monotonic()
        shutil.copytree(original, Path(home) / "whole")
        kill_in(begin(Path(home) / "whole"), 600)
        took = time.monotonic() - started
        assert state(Path(home) / "whole", known) == (files, [], 0)
        for number in range(count):
            folder = Path(home) / f"round{number}"
            shutil.copytree(original, folder)
            child = begin(folder)
            if number % 4:
                wait_for_a_change(child, folder / random_.choice([*known]))
                kill_in(child, random_.uniform(0, A_FEW_FILES))
            else:
                kill_in(child, took * random_.uniform(0.2, 1.02))
            rewritten, wrong, others = state(folder, known)
            counts.append(rewritten)
            left += others
            broken += [f"round {number}: {name}" for name in wrong]
            shutil.rmtree(folder) if number < count - 1 else None
        kill_in(begin(folder), 600)
        rewritten, wrong, _ = state(folder, known)
        broken += [f"after the last run: {name}" for name in wrong] + ["not finished"] * (rewritten != files)
    return counts, broken, left


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the rounds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--files", type=int, default=300)
    options = parser.parse_args(arguments)
    counts, broken, left = rounds(options.seed, options.rounds, options.files)
    between = sum(0 < count < options.files for count in counts)
    print(f"{len(counts)} kills, {between} of them while files were being written: {sorted(counts)} files rewritten")
    print(f"{len(broken)} files neither as before nor as after; {left} temporary files left behind")
    print("\n".join(broken))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
