"""How long fix takes over the files that it changes, against a bare LibCST parse and print of the same files.

    python tests/bench/fix_speed.py FOLDER [--pairs 5]

Planning and rewriting run in this process, on files already in memory, as the parse and print do, and for both Python
looks for garbage as seldom as it does for the command; the two take turns, and the median of the pairs' ratios is what
counts.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import libcst

from jaxmigrate.lint.linting import with_rare_collections
from jaxmigrate.migrate import plan_sources
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.sources import SourceError, read_source


def seconds(work: Callable[[], object]) -> float:
    """Processor time of one call, which depends less than the clock on what else the machine does.

    What earlier calls left is cleared away first: it would be searched through in this one's time.
    """
    gc.collect()
    started = time.process_time()
    work()
    return time.process_time() - started


def main() -> None:
    """Prints the two medians and the median ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args()
    sys.setrecursionlimit(10_000)
    sources = []
    for path in sorted(options.folder.rglob("*.py")):
        try:
            sources.append((path.as_posix(), path, read_source(path).text))
        except SourceError as error:
            print(error, file=sys.stderr)
    plan, _ = plan_sources(sources, PlanOptions(marks=True))
    changed = {file.path for file in plan.files if file.changed}
    texts = [source for source in sources if source[0] in changed]
    ours, theirs = [], []
    with with_rare_collections():
        for _ in range(options.pairs):
            ours.append(seconds(lambda: plan_sources(texts, PlanOptions())))  # as the command does
            theirs.append(seconds(lambda: [libcst.parse_module(text).code for _, _, text in texts]))
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    print(f"{len(texts)} files changed, {sum(len(text) for _, _, text in texts):,} characters")
    print(f"fix    {statistics.median(ours):.3f} s")
    print(f"LibCST {statistics.median(theirs):.3f} s")
    print(f"ratio  {statistics.median(ratios):.2f} (smallest {min(ratios):.2f}, largest {max(ratios):.2f})")


if __name__ == "__main__":
    main()
