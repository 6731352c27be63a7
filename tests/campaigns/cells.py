"""Writes every file with a pmap as a notebook too, cut into cells at random, and compares what fix makes of both.

    python tests/campaigns/cells.py FOLDER [--layout stacked] [--seed N]

Both have to have the same sites with the same status and the same layouts; each cell has to parse by itself afterwards,
and a second run has to change nothing. With `--layout auto` a cell's last expression is shown, which a file's is not,
so that a layout may differ there.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import random
import sys
import traceback
import warnings
from collections import Counter
from pathlib import Path

from jaxmigrate.commands.planning import PlannedFile, plan_files
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.sources import SourceError, decode


def as_notebook(text: str, chance: random.Random) -> bytes:
    """The code as a notebook: a new cell begins at half of the statements; sources are lists or strings."""
    lines = text.splitlines(keepends=True)
    starts = sorted(
        {min([s.lineno, *(d.lineno for d in getattr(s, "decorator_list", []))]) for s in ast.parse(text).body}
    )
    cuts = [0, *(start - 1 for start in starts[1:] if chance.random() < 0.5), len(lines)]
    sources = ["".join(lines[start:end]) for start, end in itertools.pairwise(cuts)]
    sources = [source.removesuffix("\n") if chance.random() < 0.7 else source for source in sources]
    cells: list[dict[str, object]] = [
        {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": source if chance.random() < 0.5 else source.splitlines(keepends=True),
        }
        for source in sources
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()


def compared(path: Path, text: str, layout: str, chance: random.Random) -> Counter[str]:
    """The figures of one file."""
    plain, errors = plan_files([decode(text.encode(), "a.py", path)], PlanOptions(layout))
    place = path.with_suffix(".ipynb")
    book, more = plan_files([decode(as_notebook(text, chance), "a.ipynb", place)], PlanOptions(layout))
    if errors or more:
        print(path, *errors, *more)
        return Counter({"refused": 1})
    pairs = list(zip(_sites(plain[0]), _sites(book[0]), strict=False))
    found = Counter({"sites": len(plain[0].sites), "same": sum(one == other for one, other in pairs)})
    if found["same"] < found["sites"] or len(book[0].sites) != found["sites"]:
        print(path, *[f"\n  {one}\n  {other}" for one, other in pairs if one != other])
    if book[0].plan.changed:
        found["changed"] = 1
        after = book[0].after
        again, _ = plan_files([decode(after, "a.ipynb", place)], PlanOptions(layout))
        found["changed again"] = sum(file.plan.changed for file in again)
        found["unparsable"] = sum(not _parses("".join(cell["source"])) for cell in json.loads(after)["cells"])
    return found


def _sites(file: PlannedFile) -> list[tuple[object, ...]]:
    return [
        (site.mapped, site.status, site.code, *(array.layout for array in (*site.arguments, *site.outputs)))
        for site in file.sites
    ]


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def main() -> int:
    """Prints the sums; 1 where a notebook comes out otherwise than the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layout", choices=("auto", "stacked"), default="stacked")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sys.setrecursionlimit(10_000)
    warnings.simplefilter("ignore")
    chance = random.Random(options.seed)
    total: Counter[str] = Counter()
    for path in sorted(options.folder.rglob("*.py")):
        try:
            text = path.read_text(encoding="utf-8")
            if "pmap" not in text or not _parses(text):
                continue
            total += Counter({"files": 1}) + compared(path, text, options.layout, chance)
        except (UnicodeDecodeError, SourceError) as error:
            print(f"{path}: {error}", file=sys.stderr)
        except Exception:  # noqa: BLE001 - a crash is a figure, and must not end the campaign
            traceback.print_exc()
            total["crashes"] += 1
    print(", ".join(f"{count} {name}" for name, count in total.items()))
    faults = sum(total[fault] for fault in ("crashes", "refused", "changed again", "unparsable"))
    return 1 if faults or total["same"] < total["sites"] else 0


if __name__ == "__main__":
    sys.exit(main())
