"""What a mapped call costs after `fix --layout auto`, against pmap's own, on the whole programs in fixtures/.

    python tests/bench/layout_steps.py [NAME...] [--pairs 3] [--longer 1]

A program that does not run here, for want of a library or of a script, is named and left out. `--longer` multiplies
the number of steps that the README gives, the last number of the command.

Each program runs before and after in turn, on 8 simulated devices, as its README says. Every mapped call is timed with
its operands and its results waited for; the first two calls of a site compile. A ratio is pmap's time a call over the
migrated one's, so that more than 1 is faster. The collectives are those of all programs that XLA compiled, as
`--xla_dump_to` shows them after optimisation.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from jaxmigrate.migrate import plan_sources
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.sources import read_source

FIXTURES = Path(__file__).parents[2] / "fixtures"
COLLECTIVES = re.compile(
    r" (all-reduce|all-gather|collective-permute|all-to-all|reduce-scatter|collective-broadcast)(?:-start)?\("
)
CHILD = """
import atexit, builtins, collections, functools, json, runpy, sys, time

timings = collections.defaultdict(list)


def mapped(site, function):
    @functools.wraps(function, updated=())
    def timed(*args, **kwargs):
        import jax
        jax.block_until_ready((args, kwargs))
        started = time.perf_counter()
        out = jax.block_until_ready(function(*args, **kwargs))
        timings[site].append(time.perf_counter() - started)
        return out

    return timed


def transform(site, function):
    return lambda *args, **kwargs: mapped(site, function(*args, **kwargs))


builtins.__jaxmigrate_mapped__, builtins.__jaxmigrate_transform__ = mapped, transform
output, command = sys.argv[1], sys.argv[2:]
atexit.register(lambda: open(output, "w").write(json.dumps(timings)))
sys.path.insert(0, ".")
if command[0] == "-m":
    sys.argv = command[1:]
    runpy.run_module(command[1], run_name="__main__", alter_sys=True)
else:
    sys.argv = command
    runpy.run_path(command[0], run_name="__main__")
"""
Run = tuple[dict[str, list[float]], Counter[str]]


def command_of(name: str, longer: int) -> list[str]:
    """The arguments with which a program's README runs it, for that many times as many steps."""
    text = (FIXTURES / name / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^    python (.+)$", text, re.MULTILINE)
    return re.sub(r"\d+$", lambda number: str(int(number[0]) * longer), found[1]).split() if found else []


def write(name: str, folder: Path) -> None:
    """Writes a program before and after, with marks around its mapped functions."""
    root = FIXTURES / name / "before"
    sources = [read_source(path, path.relative_to(root).as_posix()) for path in sorted(root.rglob("*.py"))]
    plan, _ = plan_sources([(s.name, s.path or root, s.text) for s in sources], PlanOptions("auto", marks=True))
    for file in plan.files:
        for side, text in (("before", file.marked_before), ("after", file.marked_after)):
            target = folder / side / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    (folder / "child.py").write_text(CHILD, encoding="utf-8")


def run(folder: Path, side: str, command: list[str]) -> Run:
    """Seconds of each call by site, and how many collectives of each kind XLA compiled."""
    dump = Path(tempfile.mkdtemp(dir=folder))
    flags = f"--xla_force_host_platform_device_count=8 --xla_dump_to={dump} --xla_dump_hlo_as_text"
    environment = {**os.environ, "XLA_FLAGS": flags, "NPROC": "64", "PYTHONPATH": "."}
    output = dump / "timings.json"
    subprocess.run(
        [sys.executable, folder / "child.py", output, *command],
        cwd=folder / side,
        env=environment,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    counts: Counter[str] = Counter()
    for path in dump.rglob("*after_optimizations.txt"):
        counts.update(COLLECTIVES.findall(path.read_text(encoding="utf-8")))
    return json.loads(output.read_text(encoding="utf-8")), counts


def main() -> int:
    """Prints a line for each program; 1 if one has more collectives than it had."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--longer", type=int, default=1)
    options = parser.parse_args()
    more = 0
    for name in options.names or sorted(path.parent.name for path in FIXTURES.glob("*/before")):
        command = command_of(name, options.longer)
        if not command:
            print(f"{name:24} has no script to run", flush=True)
            continue
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            write(name, folder)
            sides = ("before", "after")
            try:
                pairs = [[run(folder, side, command) for side in sides] for _ in range(options.pairs)]
            except subprocess.CalledProcessError as error:
                print(f"{name:24} does not run here (exit status {error.returncode})", flush=True)
                continue
        more += report(name, pairs)
    return 1 if more else 0


def report(name: str, pairs: list[list[Run]]) -> bool:
    """Prints a program's line; says whether it compiled more collectives of some kind."""
    ratios = []
    for (before, _), (after, _) in pairs:
        for site, calls in before.items():
            if len(calls) > 2 and len(after.get(site, ())) == len(calls):
                ratios.append(statistics.median(calls[2:]) / statistics.median(after[site][2:]))
    (_, were), (_, are) = pairs[0]
    grown = [kind for kind in are if are[kind] > were[kind]]
    kinds = ", ".join(f"{kind} {were[kind]} to {are[kind]}" for kind in sorted({*were, *are})) or "no collective"
    speed = f"{statistics.median(ratios):.2f} times pmap's speed" if ratios else "too few calls to time"
    print(f"{name:24} {speed} ({len(ratios)} sites timed); {kinds}{'  MORE' if grown else ''}", flush=True)
    return bool(grown)


if __name__ == "__main__":
    sys.exit(main())
