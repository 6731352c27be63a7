"""Runs fix over a folder of checked-out repositories and prints a table that two commits can be compared by.

    python tests/campaigns/corpus.py FOLDER [--json FILE]

For each repository: files, mapped sites, how many are rewritten and left (with the codes of why), output that does not
parse, files that a second run would change again, crashes, and seconds. Nothing is written to the repositories.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from jaxmigrate.migrate import plan_sources
from jaxmigrate.sources import SourceError, read_source

COLUMNS = ("files", "sites", "rewritten", "left", "unparsable", "changed again", "crashes", "seconds")


def measure(repository: Path) -> dict[str, Any]:
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
        plan, _ = plan_sources(sources)
        row["seconds"] = round(time.perf_counter() - started, 2)
        again, _ = plan_sources([(file.path, repository / file.path, file.after) for file in plan.files])
    except Exception:  # noqa: BLE001 - a crash is a row's figure, and must not end the campaign
        traceback.print_exc()
        return row | {"crashes": 1}
    status = Counter(site.status for site in plan.sites)
    left = [f"{s.id} {s.code} {s.reason}" for s in plan.sites if s.status == "left"]
    return row | {
        "sites": len(plan.sites),
        "rewritten": status["rewritten"],
        "left": status["left"],
        "unparsable": sum(not parses(file.after) for file in plan.files if file.changed),
        "changed again": sum(file.changed for file in again.files),
        "left sites": left,
    }


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
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    options = parser.parse_args()
    sys.setrecursionlimit(10_000)
    rows = {path.name: measure(path) for path in sorted(options.folder.iterdir()) if path.is_dir()}
    rows["total"] = {column: round(sum(row[column] for row in rows.values()), 2) for column in COLUMNS}
    print("| repository |", " | ".join(COLUMNS), "|")
    print("|---|" + "---:|" * len(COLUMNS))
    for name, row in rows.items():
        print(f"| {name} |", " | ".join(str(row[column]) for column in COLUMNS), "|")
    for name, row in rows.items():
        for site in row.get("left sites", ()):
            print(f"{name}: {site}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    total = rows["total"]
    return 1 if total["unparsable"] or total["changed again"] or total["crashes"] else 0


if __name__ == "__main__":
    sys.exit(main())
