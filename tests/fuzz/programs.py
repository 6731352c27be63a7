"""Writes random pmap programs, rewrites them in both layouts, runs all and compares every observed value bit by bit.

    python tests/fuzz/programs.py [--seed 0] [--seconds 600] [--count N] [--log FILE] [--show NUMBER] [--keep FOLDER]
                                  [--stacked-every 1] [--again-every 1] [--fast]

Program `number` of a seed is always the same. With `--log` each verdict is a line of the file, and what it holds is not
run again. What differs, raises, crashes or changes on a second run is shrunk and written to the folder `--keep`.
Prints totals: how many ran, agreed, were rewritten with global arrays, and why arrays or sites were left. The exit
status is 1 where a program differed, raised, crashed or changed again.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # a script's own folder is all that Python would look in

from tests.flags import UNOPTIMISED
from tests.fuzz.running import KNOWN, LAYOUTS, Case, Verdicts, Worker, generated, rewritten
from tests.fuzz.shrinking import shrunk

PROGRAMS_A_COLLECTION = 50  # Python's collector takes a tenth of the time where it goes by its own counts
GOOD = ("equal", "types", "last bits", "original raises")
PLACES = re.compile(r" \([^()]*:?\d+\)|\([^()]*\)|`[^`]*`|\d+")


def entry_of(number: int, case: Case, verdicts: Verdicts, seconds: float) -> dict[str, Any]:
    """What the log keeps of a program."""
    arrays = [array for site in case.sites for array in (*site.arguments, *site.outputs)]
    return {
        "number": number,
        "verdicts": {label: verdict for label, (verdict, _) in verdicts.items()},
        "text": {label: text[-1500:] for label, (verdict, text) in verdicts.items() if verdict != "equal" and text},
        "layouts": sorted(case.after),
        "sites": len(case.sites),
        "global": case.has_global,
        "takes global": case.takes_global,
        "left": [f"{site.code} {PLACES.sub('', site.reason)}" for site in case.sites if site.status == "left"],
        "arrays": Counter(array.layout for array in arrays),
        "stacked": Counter(PLACES.sub("", array.reason) for array in arrays if array.reason),
        "seconds": round(seconds, 2),
    }


def bad(verdicts: Verdicts) -> dict[str, str]:
    """The verdicts that should not be."""
    return {label: verdict for label, (verdict, _) in verdicts.items() if verdict not in (*GOOD, *KNOWN.values())}


def campaign(options: argparse.Namespace, done: set[int]) -> Iterator[dict[str, Any]]:
    """Runs programs until the time or the count is used up, writing and planning each while the one before runs."""
    until = time.monotonic() + options.seconds
    numbers = (number for number in range(options.first, options.first + options.count) if number not in done)
    running: tuple[int, Case, float] | None = None
    with Worker(flags=UNOPTIMISED if options.fast else ()) as worker:
        for number in numbers:
            if time.monotonic() > until:
                break
            _, files = generated(f"{options.seed}:{number}")
            layouts = LAYOUTS[: 1 if number % options.stacked_every else 2]
            case = rewritten(str(number), files, layouts, twice=number % options.again_every == 0)
            if running is not None:
                yield judged(*running, worker, options)
            worker.begin(case)
            running = number, case, time.monotonic()
            if number % PROGRAMS_A_COLLECTION == 0:
                gc.collect()
        if running is not None:
            yield judged(*running, worker, options)


def judged(number: int, case: Case, begun: float, worker: Worker, options: argparse.Namespace) -> dict[str, Any]:
    """Waits for a program's verdicts, and shrinks it where one of them is bad."""
    verdicts = worker.finish(case)
    if bad(verdicts) and options.keep:
        choices, _ = generated(f"{options.seed}:{number}")
        keep(options.keep, number, shrunk(choices, bad(verdicts), worker, options.shrink), worker)
    return entry_of(number, case, verdicts, time.monotonic() - begun)


def keep(folder: Path, number: int, drawn: list[int], worker: Worker) -> None:
    """Writes a shrunk program with its verdict and its rewritten forms."""
    _, files = generated(given=drawn)
    case = rewritten(str(number), files)
    verdicts = worker.ask(case)
    home = folder / str(number)
    for label, texts in (("before", files), *case.after.items()):
        for name, text in texts.items():
            path = home / label / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    said = "\n".join(f"{label}: {verdict}\n{text}" for label, (verdict, text) in verdicts.items())
    (home / "README.md").write_text(f"{said}\n\nchoices: {drawn}\n", encoding="utf-8")
    print(f"shrunk {number}: {bad(verdicts)}, {sum(map(len, files.values()))} characters", file=sys.stderr, flush=True)


def report(entries: list[dict[str, Any]], seed: str) -> int:
    """Prints the totals; 1 where something is wrong."""
    ran = [e for e in entries if "original raises" not in e["verdicts"].values()]
    print(f"seed {seed}: {len(entries)} programs, {len(ran)} ran, {len(entries) - len(ran)} raise as written")
    for layout in ("auto", "stacked"):
        counts = Counter(e["verdicts"].get(layout, "as the other layout, or unchanged") for e in ran)
        print(f"{layout}: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common()))
    total = len(ran) or 1
    print(f"{100 * sum(bool(e['layouts']) for e in ran) / total:.1f}% of programs are rewritten")
    print(f"{100 * sum(e['global'] for e in ran) / total:.1f}% have a site with a global array")
    print(f"{100 * sum(e['takes global'] for e in ran) / total:.1f}% have a site that takes one")
    arrays = sum((Counter(e["arrays"]) for e in ran), Counter())
    print("arrays: " + ", ".join(f"{n} {layout}" for layout, n in arrays.most_common()))
    for title in ("left", "stacked"):
        for reason, n in sum((Counter(e[title]) for e in ran), Counter()).most_common(40):
            print(f"{n:5} {title}: {reason}")
    wrong = [e for e in entries if set(e["verdicts"].values()) - {*GOOD, *KNOWN.values()}]
    for entry in wrong:
        print(f"number {entry['number']}: {entry['verdicts']}")
    return 1 if wrong else 0


def main() -> int:
    """Runs the campaign."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--first", type=int, default=0, help="the number of the first program")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    parser.add_argument("--shrink", type=float, default=60, metavar="SECONDS", help="for each failure (default: 60)")
    parser.add_argument("--stacked-every", type=int, default=1, metavar="N", help="run the stacked form of each Nth")
    parser.add_argument("--again-every", type=int, default=1, metavar="N", help="rewrite the result of each Nth anew")
    parser.add_argument("--fast", action="store_true", help="compile without what XLA does for speed")
    parser.add_argument("--show", type=int, metavar="NUMBER", help="print a program and run nothing")
    options = parser.parse_args()
    if options.show is not None:
        for path, text in generated(f"{options.seed}:{options.show}")[1].items():
            print(f"# {path}\n{text}")
        return 0
    gc.disable()
    entries: list[dict[str, Any]] = []
    if options.log is not None and options.log.exists():
        entries = [json.loads(line) for line in options.log.read_text(encoding="utf-8").splitlines()]
    for entry in campaign(options, {e["number"] for e in entries}):
        entries.append(entry)
        if options.log is not None:
            with options.log.open("a", encoding="utf-8") as log:
                print(json.dumps(entry), file=log)
    return report(entries, options.seed)


if __name__ == "__main__":
    sys.exit(main())
