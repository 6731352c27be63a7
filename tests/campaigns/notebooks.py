"""Fixes and lints a folder of notebooks, each by itself in a copy, and prints a table by repository.

    python tests/campaigns/notebooks.py FOLDER [--layout stacked] [--json FILE]

What is checked of each notebook does not use the code that is measured: a notebook in which fix changes nothing has to
keep its every byte; of a changed one, every cell but the changed ones, and all of the file outside of their sources;
its lines of magics and shell commands have to stay as they are; and a second run has to change nothing. Notebooks that
fix refuses (another format, code that does not parse) have to stay as well. Nothing is written to the folder.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxmigrate.cli import main as jaxmigrate

COLUMNS = (
    *("notebooks", "code cells", "magics", "refused", "other languages", "findings", "sites", "rewritten", "left"),
    *("old names", "changed", "unchanged", "bytes lost", "magics lost", "changed again", "crashes", "seconds"),
)
FAULTS = ("bytes lost", "magics lost", "changed again", "crashes")
MAGIC = re.compile(r"^[ \t]*[%!].*$", re.MULTILINE)
SOURCE = re.compile(r'"source"\s*:\s*(?:"(?:[^"\\]|\\.)*"|\[(?:\s*"(?:[^"\\]|\\.)*"\s*,?)*\s*\])')


def measure(notebook: Path, layout: str) -> Counter[str]:
    """One notebook's figures; the file is changed in place."""
    before = notebook.read_bytes()
    found = Counter({"notebooks": 1})
    started = time.perf_counter()
    findings, _, lint_status = _run("lint", "--no-cache", "--format", "json", str(notebook))
    report = notebook.with_suffix(".json")
    _, told, status = _run("fix", "--layout", layout, "--report", str(report), str(notebook))
    found["seconds"] = round(1000 * (time.perf_counter() - started))
    if any("internal error" in line for line in told) or lint_status not in (0, 1, 2) or status not in (0, 1, 2):
        print(f"{notebook}: {told}", file=sys.stderr)
        return found + Counter({"crashes": 1})
    found["findings"] = len(json.loads(findings)["findings"]) if findings else 0
    found["refused"] = status == 2
    found["other languages"] = any("its kernel's language" in line for line in told)
    if status == 2:
        print(f"refused: {told[0]}", file=sys.stderr)
    planned = json.loads(report.read_text()) if report.exists() else {"sites": [], "names": []}
    found["sites"] = len(planned["sites"])
    found["rewritten"] = sum(site["status"] == "rewritten" for site in planned["sites"])
    found["left"] = found["sites"] - found["rewritten"]
    found["old names"] = len(planned["names"])
    after = notebook.read_bytes()
    found["changed" if after != before else "unchanged"] = 1
    found += _compared(before, after)
    _run("fix", "--layout", layout, str(notebook))
    found["changed again"] = notebook.read_bytes() != after
    if any(found[fault] for fault in FAULTS):
        print(f"{notebook}: {found}", file=sys.stderr)
    return found


def _run(*arguments: str) -> tuple[str, list[str], int]:
    """Standard output, the lines of standard error, and the exit status of a command line."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = jaxmigrate(arguments)
    return out.getvalue(), err.getvalue().splitlines(), status


def _compared(before: bytes, after: bytes) -> Counter[str]:
    """What a rewrite lost beside the code that it was to change."""
    try:
        cells, new_cells = _code(before), _code(after)
    except (ValueError, KeyError, TypeError, AttributeError):
        return Counter({"bytes lost": before != after})
    return Counter(
        {
            "code cells": len(cells),
            "magics": sum(len(MAGIC.findall(cell)) for cell in cells),
            "magics lost": sum(_magics_lost(*pair) for pair in zip(cells, new_cells, strict=True)),
            "bytes lost": _without_changed(before, cells, new_cells) != _without_changed(after, new_cells, cells),
        }
    )


def _code(raw: bytes) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(raw)["cells"] if cell["cell_type"] == "code"]


def _magics_lost(before: str, after: str) -> int:
    """How many magics and shell lines of a cell are gone, by their first words: the code behind one may change."""
    old, new = (Counter(line.split()[0] for line in MAGIC.findall(cell)) for cell in (before, after))
    return sum((old - new).values())


def _without_changed(raw: bytes, cells: Sequence[str], others: Sequence[str]) -> str:
    """The text of a notebook with the sources of changed code cells taken out, found by their values."""
    changed = {"", *(old for old, new in zip(cells, others, strict=True) if old != new)}

    def blanked(found: re.Match[str]) -> str:
        value: Any = json.loads(f"{{{found[0]}}}")["source"]
        return "" if "".join(value) in changed else found[0]

    return SOURCE.sub(blanked, raw.decode("utf-8-sig"))


def main() -> int:
    """Prints the table; 1 where something crashed, was lost or is not stable."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layout", choices=("auto", "stacked"), default="auto")
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    options = parser.parse_args()
    rows: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for path in sorted(options.folder.rglob("*.ipynb")):
            inside = path.relative_to(options.folder)
            copy = Path(scratch) / inside
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
            rows.setdefault(inside.parts[0], Counter()).update(measure(copy, options.layout))
    rows["total"] = sum(rows.values(), Counter())
    print("| repository |", " | ".join(COLUMNS), "|")
    print("|---|" + "---:|" * len(COLUMNS))
    for name, row in rows.items():
        row["seconds"] = round(row["seconds"] / 1000)
        print(f"| {name} |", " | ".join(str(int(row[column])) for column in COLUMNS), "|")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 1 if any(rows["total"][fault] for fault in FAULTS) else 0


if __name__ == "__main__":
    sys.exit(main())
