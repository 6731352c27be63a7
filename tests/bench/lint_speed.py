"""Whole-process time of `jaxmigrate lint` against `ruff check --no-cache` on the same files, and of one file.

    python tests/bench/lint_speed.py FOLDER [--pairs 5]

Cold is without a cache, warm with one that is up to date. Each command takes turns with the one that it is compared
with; the median of the pairs' ratios is what counts, of elapsed time and, since that depends on what else the machine
does, of processor time. One file, as pre-commit calls it, is compared with `python -c pass`. Memory is the largest that
any process and, added up, that all processes at work at one time had.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

PAGE = os.sysconf("SC_PAGE_SIZE")


class Run(NamedTuple):
    """One process: seconds elapsed, and seconds of processor time with those of its children."""

    elapsed: float
    processor: float


def installed(folder: str) -> dict[str, str]:
    """The environment in which Python keeps what it compiles, as it does of installed packages."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": f"{folder}/compiled"}


def run(command: list[str], folder: str) -> Run:
    """Runs a command to its end, whatever it finds."""
    before, started = spent(), time.perf_counter()
    nothing = subprocess.DEVNULL
    subprocess.run(command, cwd=folder, env=installed(folder), stdout=nothing, stderr=nothing, check=False)
    return Run(time.perf_counter() - started, spent() - before)


def spent() -> float:
    """Seconds of processor time of the processes that have ended; `os.times` has only hundredths of them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare(name: str, ours: list[str], theirs: list[str], pairs: int, folder: str) -> None:
    """Prints the medians of both commands and of their ratios."""
    run(ours, folder), run(theirs, folder)
    measured = [(run(ours, folder), run(theirs, folder)) for _ in range(pairs)]
    for kind in Run._fields:
        times = [(getattr(a, kind), getattr(b, kind)) for a, b in measured]
        one, other = (statistics.median(column) for column in zip(*times, strict=True))
        ratio = statistics.median(a / b for a, b in times)
        print(f"{name}, {kind}: {one:.3f} s against {other:.3f} s, ratio {ratio:.2f}", flush=True)


def resident(process: int) -> int:
    """Bytes of memory that a process and its children share out among themselves, as far as /proc tells."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        held = int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError, ValueError):
        return 0
    return held + sum(resident(int(child)) for child in children)


def memory(command: list[str], folder: str) -> float:
    """The most MiB that a command and its children held at one time, seen every 10 ms; shared pages count twice."""
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=folder, env=installed(folder), stdout=nothing, stderr=nothing)
    most = 0
    done = threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.01):
            most = max(most, resident(process.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    process.wait()
    done.set()
    watcher.join()
    return most / 2**20


def main() -> None:
    """Prints the lines for the folder and those for a single file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args()
    lint = [sys.executable, "-m", "jaxmigrate", "lint"]
    ruff = shutil.which("ruff") or str(Path(sys.executable).with_name("ruff"))
    target = str(options.folder.absolute())
    files = sorted(options.folder.absolute().rglob("*.py"))
    check = [ruff, "check", "--no-cache", "--isolated", target]
    mapped = [path for path in files if b"pmap" in path.read_bytes()]
    one = str(sorted(mapped, key=lambda path: path.stat().st_size)[len(mapped) // 2])
    with tempfile.TemporaryDirectory() as folder:  # where the cache is kept
        compare(f"{len(files)} files cold against ruff", [*lint, "--no-cache", target], check, options.pairs, folder)
        compare(f"{len(files)} files warm against ruff", [*lint, target], check, options.pairs, folder)
        nothing = [sys.executable, "-c", "pass"]
        compare("one file against python -c pass", [*lint, "--no-cache", one], nothing, options.pairs * 2, folder)
        print(f"memory: {memory([*lint, '--no-cache', target], folder):.0f} MiB in all processes together")


if __name__ == "__main__":
    main()
