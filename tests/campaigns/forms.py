"""Goes through the combinations of forms, functions, keywords and calls of pmap, running each before and after fix.

    python tests/campaigns/forms.py [--seconds 1800] [--seed 0] [--resume LOG] [--python EXE] [--layout auto]
                                     [--where mapped=nested]

First come the programs of `make test`, then those in which every three values meet, then all others in a shuffled
order. Prints how many ran, agreed bitwise, were left and differed. With `--resume` each verdict is a line of LOG, and
what LOG already holds is not run again. `--python` runs the programs with another Python, such as one with an older
JAX; one older than 0.8 also runs nested maps.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # a script's own folder is all that Python would look in

from jaxmigrate.migrate import plan_sources
from jaxmigrate.migrate.options import PlanOptions
from tests.migrate.forms.covering import AT_RUN_TIME, SIZE, at, covering, index_of, shuffled
from tests.migrate.forms.dimensions import EXCLUDED, NESTED, OLDER, Combination, Excluded
from tests.migrate.forms.programs import files_of
from tests.migrate.forms.running import Program, run

SHOWN, SAMPLE = 20, 100_000
LINE = re.compile(r" \([\w.]+:\d+\)")


def order(seed: int, done: Iterable[int]) -> Iterator[int]:
    """Every combination's place in the product, those first that hold the most meetings of values not met in `done`."""
    seen: set[int] = set()
    pairs = covering(2, seed)
    first = [*pairs, *covering(3, seed, AT_RUN_TIME, pairs)]
    for combination in first:
        seen.add(index_of(combination))
        yield index_of(combination)
    for combination in covering(3, seed, covered=[*first, *(at(index) for index in done)]):
        seen.add(index_of(combination))
        yield index_of(combination)
    yield from (index for index in shuffled(seed) if index not in seen)


class Campaign:
    """What has been run, what is to run, and the log between the two."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.until = time.monotonic() + options.seconds
        self.log: Path | None = options.resume
        self.verdicts: dict[int, tuple[str, str]] = {}
        self.rules = _rules(options.python)
        self.where = dict(part.split("=") for part in options.where)
        if self.log is not None and self.log.exists():
            for line in self.log.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                self.verdicts[entry["index"]] = entry["verdict"], entry["text"]

    def programs(self) -> Iterator[Program]:
        """The programs that have not been run, until the time is up."""
        for index in order(self.options.seed, list(self.verdicts)):
            if time.monotonic() > self.until:
                return
            if not self.where.items() <= at(index).items():
                continue
            why = self._excluded(at(index))
            if why is None and index not in self.verdicts:
                program, reasons = _planned(str(index), files_of(at(index)), self.options.layout)
                if reasons:
                    self.note(index, "left", reasons[0])
                else:
                    yield program

    def _excluded(self, combination: Combination) -> Excluded | None:
        return next((e for e in self.rules if e.holds(combination)), None)

    def note(self, index: int, verdict: str, text: str) -> None:
        """Keeps a verdict, in the log too."""
        self.verdicts[index] = verdict, text
        if self.log is not None:
            with self.log.open("a", encoding="utf-8") as log:
                print(json.dumps({"index": index, "verdict": verdict, "text": text[:3000]}), file=log)

    def run(self) -> None:
        """Runs programs until the time is up."""
        started = time.monotonic()
        for count, verdict in enumerate(run(self.programs(), self.options.python), 1):
            self.note(int(verdict.name), verdict.verdict, verdict.text)
            if verdict.verdict != "agrees":
                print(f"{verdict.verdict}: {at(int(verdict.name))}\n{verdict.text[-800:]}", file=sys.stderr)
            if count % 200 == 0:
                print(f"{count} programs in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)

    def report(self) -> int:
        """Prints the figures; 1 where a program raised, crashed or differed."""
        counts = Counter(verdict for verdict, _ in self.verdicts.values())
        ran = sum(n for verdict, n in counts.items() if verdict != "left")
        print(f"{SIZE} combinations; {ran} ran, {counts['agrees']} agree bitwise")
        for verdict in ("differs", "rewrite raises", "original raises", "crashes"):
            print(f"{counts[verdict]} {verdict}")
        for reason, n in Counter(
            LINE.sub("", text) for verdict, text in self.verdicts.values() if verdict == "left"
        ).most_common():
            print(f"{n} left by fix: {reason}")
        shares = Counter(self._excluded(at(index)) for index in itertools.islice(shuffled(self.options.seed), SAMPLE))
        for why, n in shares.most_common():
            share = f"{100 * n / SAMPLE:.1f}% of all"
            print(f"{share} can be run" if why is None else f"{share} are not run, by {why.by}: {why.reason}")
        wrong = [index for index, (verdict, _) in self.verdicts.items() if verdict not in ("agrees", "left")]
        for index in wrong[:SHOWN]:
            print(f"{self.verdicts[index][0]}: {index} {at(index)}")
        return 1 if wrong else 0


def _planned(name: str, files: dict[str, str], layout: str) -> tuple[Program, list[str]]:
    """A program with what fix makes of it, and the reasons of the sites that fix leaves."""
    root = Path("/project")
    plan, errors = plan_sources(
        [(path, root / path, text) for path, text in files.items()], PlanOptions(layout, marks=True)
    )
    assert not errors, errors
    after = {file.path: file.after for file in plan.files}
    return Program(name, files, after), [f"{s.code} {s.reason}" for s in plan.sites if s.status == "left"]


def _rules(python: str) -> list[Excluded]:
    """What the JAX of a Python does not take."""
    code = "import jax; print(*jax.__version_info__)"
    version = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    older = tuple(map(int, version)) < (0, 8)
    return [*OLDER, *(e for e in EXCLUDED if e is not NESTED)] if older else list(EXCLUDED)


def main() -> int:
    """Runs the campaign."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--resume", type=Path, metavar="LOG")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--layout", choices=("stacked", "auto"), default="stacked")
    parser.add_argument(
        "--where", nargs="+", default=(), metavar="DIMENSION=VALUE", help="only combinations with these"
    )
    parser.add_argument("--only", type=int, nargs="+", help="show these combinations' programs, and run nothing")
    options = parser.parse_args()
    for index in options.only or ():
        for path, text in files_of(at(index)).items():
            print(f"# {path}: {at(index)}\n{text}")
    if options.only:
        return 0
    campaign = Campaign(options)
    campaign.run()
    return campaign.report()


if __name__ == "__main__":
    sys.exit(main())
