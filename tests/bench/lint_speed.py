"""Whole-process time of `jaxmigrate lint` against `ruff check --no-cache` on the same files, and of one file.

    python tests/bench/lint_speed.py FOLDER [--pairs 5]

The two take turns; the median of the pairs' ratios is what counts. One file is compared with `python -c pass`.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path


def seconds(command: list[str]) -> float:
    """Wall time of one process, whatever it finds."""
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - started


def compare(name: str, ours: list[str], theirs: list[str], pairs: int) -> None:
    """Prints the medians of both commands and of their ratio."""
    seconds(ours), seconds(theirs)
    measured = [(seconds(ours), seconds(theirs)) for _ in range(pairs)]
    ratios = [a / b for a, b in measured]
    medians = [statistics.median(column) for column in zip(*measured, strict=True)]
    print(f"{name}: {medians[0]:.3f} s against {medians[1]:.3f} s, ratio {statistics.median(ratios):.2f}")


def main() -> None:
    """Prints one line for the folder and one for a single file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args()
    lint = [sys.executable, "-m", "jaxmigrate", "lint"]
    ruff = shutil.which("ruff") or str(Path(sys.executable).with_name("ruff"))
    folder = str(options.folder)
    files = sorted(options.folder.rglob("*.py"))
    check = [ruff, "check", "--no-cache", "--isolated", folder]
    compare(f"{len(files)} files, ruff", [*lint, folder], check, options.pairs)
    mapped = [path for path in files if b"pmap" in path.read_bytes()]
    one = str(sorted(mapped, key=lambda path: path.stat().st_size)[len(mapped) // 2])
    compare("one file, python -c pass", [*lint, one], [sys.executable, "-c", "pass"], options.pairs)


if __name__ == "__main__":
    main()
