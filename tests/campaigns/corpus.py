"""Runs fix over a folder of checked-out repositories and prints a table that two commits can be compared by.

    python tests/campaigns/corpus.py FOLDER [--layout stacked] [--json FILE]

For each repository: files, mapped sites, how many are rewritten and left (with the codes of why), how many take or give
a global array and how many take nothing but such, output that does not parse, files that a second run would change
again, crashes, and seconds. Below the table, why sites take and give no global array, by how often. Nothing is written
to the repositories.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from jaxmigrate.migrate import SitePlan, plan_sources
from jaxmigrate.sources import SourceError, read_source

COLUMNS = (
    *("files", "sites", "rewritten", "left", "some global", "all arguments global"),
    *("unparsable", "changed again", "crashes", "seconds"),
)
GLOBAL = ("replicated", "split")
PLACES = re.compile(r" \([^()]*:?\d+\)|\([^()]*\)")


def measure(repository: Path, layout: str) -> dict[str, Any]:
    """One repository's row, and its left sites."""
    sources = []
    for path in sorted(repository.rglob("*.py")):
        try:
            sources.append((path.relative_to(repository).as_posix(), path, read_source(path).text))
        except SourceError as error:
            print(error, file=sys.stderr)
    row: dict[str, Any] = dict.fromkeys(COLUMNS, 0) | {"files": len(sources), "left sites": []}
    started = time.perf_counter()
    try:
        plan, _ = plan_sources(sources, layout=layout)
        row["seconds"] = round(time.perf_counter() - started, 2)
        after = [(file.path, repository / file.path, file.after) for file in plan.files]
        again, _ = plan_sources(after, layout=layout)
    except Exception:  # noqa: BLE001 - a crash is a row's figure, and must not end the campaign
        traceback.print_exc()
        return row | {"crashes": 1}
    status = Counter(site.status for site in plan.sites)
    left = [f"{s.id} {s.code} {s.reason}" for s in plan.sites if s.status == "left"]
    return row | {
        "sites": len(plan.sites),
        "rewritten": status["rewritten"],
        "left": status["left"],
        "some global": sum(has_global(site) for site in plan.sites),
        "all arguments global": sum(has_global(site) and is_all_global(site) for site in plan.sites),
        "reasons": Counter(reason_of(site) for site in plan.sites if not has_global(site)),
        "unparsable": sum(not parses(file.after) for file in plan.files if file.changed),
        "changed again": sum(file.changed for file in again.files),
        "left sites": left,
    }


def has_global(site: SitePlan) -> bool:
    """Whether a site takes or gives a global array."""
    return any(array.layout in GLOBAL for array in (*site.arguments, *site.outputs))


def is_all_global(site: SitePlan) -> bool:
    """Whether all that a site takes is in global form."""
    return all(array.layout in (*GLOBAL, "broadcast", "static") for array in site.arguments)


def reason_of(site: SitePlan) -> str:
    """Why a site takes and gives no global array, without the places that are named."""
    found = [array.reason for array in (*site.outputs, *site.arguments) if array.reason]
    return PLACES.sub("", found[0]) if found else site.reason or "nothing is said"


def parses(text: str) -> bool:
    """Whether Python can parse a text."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def main() -> int:
    """Prints the table; 1 where something crashed, does not parse or is not stable."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layout", choices=("auto", "stacked"), default="auto")
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    options = parser.parse_args()
    sys.setrecursionlimit(10_000)
    folders = [path for path in sorted(options.folder.iterdir()) if path.is_dir()]
    rows = {path.name: measure(path, options.layout) for path in folders}
    rows["total"] = {column: round(sum(row[column] for row in rows.values()), 2) for column in COLUMNS}
    print("| repository |", " | ".join(COLUMNS), "|")
    print("|---|" + "---:|" * len(COLUMNS))
    for name, row in rows.items():
        print(f"| {name} |", " | ".join(str(row[column]) for column in COLUMNS), "|")
    for name, row in rows.items():
        for site in row.get("left sites", ()):
            print(f"{name}: {site}")
    reasons: Counter[str] = sum((row.get("reasons", Counter()) for row in rows.values()), Counter())
    for reason, count in reasons.most_common() if options.layout == "auto" else ():
        print(f"{count:4}  {reason}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    total = rows["total"]
    return 1 if total["unparsable"] or total["changed again"] or total["crashes"] else 0


if __name__ == "__main__":
    sys.exit(main())
