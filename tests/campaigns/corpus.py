"""Runs fix, lint and fix again over a folder of checked-out repositories and prints a table that commits compare by.

    python tests/campaigns/corpus.py FOLDER [--layout stacked] [--only NAME...] [--limit 300]
                                     [--json FILE] [--against FILE]

For each repository: files, mapped sites, how many are rewritten, show `jax.shard_map` with mesh and specs, and are
left (with the codes of why), how many take or give a global array and how many take nothing but such, the lines that
files with maps gain (renames in them too), and gain over the same files with only their old names replaced, how many
of these are functions that sites share, and in how many files of the repository such functions stand, output that does
not parse, files that a second run would change again, crashes, processor seconds of fix, milliseconds of fix a file,
MiB of memory at most, findings of lint and processor seconds of lint. Below the table: findings by rule, what is left
and why, and why sites take and give no global array, by how often. Each repository is a process of its own; one that
takes longer than the limit counts as a crash. Nothing is written to the repositories. With `--against` the rows that
another commit wrote by `--json` are compared with, and the exit status is 1 where fewer sites are rewritten or hold
global arrays, findings differ, or fix takes twice as long.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import itertools
import json
import re
import resource
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jaxmigrate.migrate import Plan, SitePlan, plan_sources, shared_module, sharing
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.wanted import ALL
from jaxmigrate.sources import SourceError, read_source

COLUMNS = (
    *("files", "sites", "rewritten", "jax.shard_map", "left", "some global", "all arguments global"),
    *("lines added", "without renames", "of helpers", "files with helpers"),
    *("unparsable", "changed again", "crashes", "seconds", "ms a file", "MiB", "findings", "lint seconds"),
)
GLOBAL = ("replicated", "split")
SHARED = frozenset(sharing.NAMES.values()).union(*shared_module.OTHERWISE.values())
ONLY_NAMES = ALL._replace(codes=tuple(f"JM4{digit}" for digit in range(1, 10)))  # all of JM4 but the maps
PLACES = re.compile(r" \([^()]*:?\d+\)|\([^()]*\)")
Row = dict[str, Any]


def measure(repository: Path, layout: str) -> Row:
    """One repository's row, and its left sites, in this process."""
    sys.setrecursionlimit(10_000)
    sources = []
    for path in sorted(repository.rglob("*.py")):
        try:
            sources.append((path.relative_to(repository).as_posix(), path, read_source(path).text))
        except SourceError as error:
            print(error, file=sys.stderr)
    row = empty() | {"files": len(sources)}
    started = time.process_time()
    try:
        plan, _ = plan_sources(sources, PlanOptions(layout, marks=True))
        row["seconds"] = round(time.process_time() - started, 2)
        row["ms a file"] = round(1000 * row["seconds"] / max(len(sources), 1), 1)
        row["MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        after = [(file.path, repository / file.path, file.after) for file in plan.files]  # new files too
        again, _ = plan_sources(after, PlanOptions(layout, marks=True))
        renames, _ = plan_sources(sources, PlanOptions(layout, wanted=ONLY_NAMES))
    except Exception:  # noqa: BLE001 - a crash is a row's figure, and must not end the campaign
        traceback.print_exc()
        return row | {"crashes": 1}
    status = Counter(site.status for site in plan.sites)
    return row | {
        "jax.shard_map": sum(site.written == "jax.shard_map" for site in plan.sites),
        **lines_added(plan, {file.path: file.after for file in renames.files}),
        "sites": len(plan.sites),
        "rewritten": status["rewritten"],
        "left": status["left"],
        "some global": sum(has_global(site) for site in plan.sites),
        "all arguments global": sum(has_global(site) and is_all_global(site) for site in plan.sites),
        "reasons": Counter(reason_of(site) for site in plan.sites if not has_global(site)),
        "unparsable": sum(not parses(file.after) for file in plan.files if file.changed),
        "changed again": sum(file.changed for file in again.files),
        "left sites": [f"{s.id} {s.code} {s.reason}" for s in plan.sites if s.status == "left"],
    }


def lines_added(plan: Plan, renamed: dict[str, str]) -> Row:
    """How many lines files with maps gain, how many of these are shared functions, and how many files have some.

    `renamed` has by name the texts of the files with only their old names replaced.
    """
    added = alone = helpers = files = 0
    for file in plan.files:
        if not file.changed or not (file.sites or file.new or file.together) or not parses(file.after):
            continue
        added += gained(file.before, file.after)
        alone += gained(renamed.get(file.path, file.before), file.after)
        before = {node.name for node in functions(file.before)} if parses(file.before) else set()
        own = [node for node in functions(file.after) if node.name.strip("_") in SHARED and node.name not in before]
        helpers += sum((n.end_lineno or n.lineno) - n.lineno + 1 + len(n.decorator_list) for n in own)
        files += bool(own)
    return {"lines added": added, "without renames": alone, "of helpers": helpers, "files with helpers": files}


def gained(before: str, after: str) -> int:
    """How many lines a text has that another one does not."""
    diff = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return sum(line.startswith("+") for line in itertools.islice(diff, 2, None))


def functions(text: str) -> list[ast.FunctionDef]:
    """The functions at the top of a file."""
    return [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]


def empty() -> Row:
    """A row of which nothing is known."""
    return dict.fromkeys(COLUMNS, 0) | {"left sites": [], "reasons": {}, "rules": {}}


def measured(repository: Path, layout: str, limit: float) -> Row:
    """One repository's row by processes of their own, each ended after the time limit."""
    own = [sys.executable, __file__, str(repository), "--layout", layout, "--one"]
    row = empty()
    try:
        child = subprocess.run(own, stdout=subprocess.PIPE, text=True, timeout=limit, check=False)
        row = json.loads(child.stdout) if child.returncode == 0 else row | {"crashes": 1}
    except subprocess.TimeoutExpired:
        row |= {"crashes": 1, "seconds": limit, "left sites": [f"fix takes longer than {limit:.0f} s"]}
    started = children_seconds()
    lint = [sys.executable, "-m", "jaxmigrate", "lint", "--no-cache", "--format", "json", str(repository)]
    try:
        child = subprocess.run(lint, capture_output=True, text=True, timeout=limit, check=False)
        rules = Counter(finding["code"] for finding in json.loads(child.stdout)["findings"])
        row |= {"findings": rules.total(), "rules": rules}
    except (subprocess.TimeoutExpired, ValueError):
        row["crashes"] += 1
    return row | {"lint seconds": round(children_seconds() - started, 2)}


def children_seconds() -> float:
    """The processor time of all processes that were started from here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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


def compared(rows: dict[str, Row], others: dict[str, Row]) -> Iterator[str]:
    """What got worse since another commit, or differs where nothing should."""
    for name in sorted(rows.keys() & others.keys() - {"total"}):
        row, other = rows[name], others[name]
        for column in ("rewritten", "jax.shard_map", "some global", "all arguments global"):
            if row[column] < other.get(column, 0):
                yield f"{name}: {column} {other[column]} became {row[column]}"
        for column in ("unparsable", "changed again", "crashes"):
            if row[column] > other[column]:
                yield f"{name}: {column} {other[column]} became {row[column]}"
        for column in ("seconds", "lint seconds"):
            if row[column] > 2 * other[column] + 1:
                yield f"{name}: {column} {other[column]} became {row[column]}"
        if row["rules"] != other.get("rules", row["rules"]):
            yield f"{name}: findings {other['rules']} became {row['rules']}"


def show(rows: dict[str, Row], layout: str) -> None:
    """Prints the table and what stands below it."""
    print("| repository |", " | ".join(COLUMNS), "|")
    print("|---|" + "---:|" * len(COLUMNS))
    for name, row in rows.items():
        print(f"| {name} |", " | ".join(str(row[column]) for column in COLUMNS), "|", flush=True)
    rules: Counter[str] = sum((Counter(row["rules"]) for row in rows.values()), Counter())
    for rule, count in sorted(rules.items()):
        print(f"{count:4}  {rule}")
    for name, row in rows.items():
        for site in row["left sites"]:
            print(f"{name}: {site}")
    reasons: Counter[str] = sum((Counter(row["reasons"]) for row in rows.values()), Counter())
    for reason, count in reasons.most_common() if layout == "auto" else ():
        print(f"{count:4}  {reason}")


def total(rows: dict[str, Row]) -> Row:
    """The sums of all columns; of the memory the most, and of the time a file the mean."""
    found = {column: round(sum(row[column] for row in rows.values()), 2) for column in COLUMNS}
    found["MiB"] = max((row["MiB"] for row in rows.values()), default=0)
    found["ms a file"] = round(1000 * found["seconds"] / max(found["files"], 1), 1)
    return empty() | found


def main() -> int:
    """Prints the table; 1 where something crashed, does not parse, is not stable or got worse."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layout", choices=("auto", "stacked"), default="auto")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these repositories alone")
    parser.add_argument("--limit", type=float, default=300, metavar="SECONDS", help="for each repository")
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    parser.add_argument("--against", type=Path, metavar="FILE", help="rows that another commit wrote by --json")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.folder, options.layout)))
        return 0
    folders = [path for path in sorted(options.folder.iterdir()) if path.is_dir()]
    folders = [path for path in folders if options.only is None or path.name in options.only]
    rows: dict[str, Row] = {}
    for path in folders:
        rows[path.name] = measured(path, options.layout, options.limit)
        print(path.name, {column: rows[path.name][column] for column in COLUMNS}, file=sys.stderr, flush=True)
    rows["total"] = total(rows)
    show(rows, options.layout)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    worse = list(compared(rows, json.loads(options.against.read_text("utf-8")))) if options.against else []
    print("\n".join(worse))
    found = rows["total"]
    return 1 if found["unparsable"] or found["changed again"] or found["crashes"] or worse else 0


if __name__ == "__main__":
    sys.exit(main())
