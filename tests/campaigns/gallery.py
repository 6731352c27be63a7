"""Verifies a gallery of migrations, right and wrong ones, and prints by kind how many were judged rightly.

    python tests/campaigns/gallery.py [FOLDER] [--half A] [--only PROGRAM[/CASE]] [--results FILE] [--version FOLDER]
    python tests/campaigns/gallery.py FOLDER --results NEW --beside OLD

FOLDER holds cases.json and, for each program, `before` and `migrations/NAME`. A case says whether the migration is
right, of which kind a mistake is, and its site: `main.py:step`, or `host main.py:step` where it is in what is done with
that one's results. With --results, what was verified already is taken from FILE; --version runs jaxmigrate as it is in
another checkout; with --beside nothing is run, and the tables of two files of results stand side by side. Without
FOLDER it is the gallery of tests/verify, every case of it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # a script's own folder is all that Python would look in

from tests.verify.galleries import GALLERY, text_of
from tests.verify.gallery_cases import CASES

CORRECT = "correct"


class Judged(NamedTuple):
    """What a verification said of one case."""

    verdict: str
    ok: bool
    sites: tuple[str, ...]
    outputs_equal: bool | None
    message: str
    runs: int
    seconds: float


def judge(folder: Path, case: Mapping[str, Any], version: Path | None, timeout: int) -> Judged:
    """The verdict on one migration, and the sites that differ, in the order in which they began to."""
    place = folder / case["program"] / "migrations" / case["migration"]
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        environment = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
        if version is not None:
            environment["PYTHONPATH"] = str(version)
        options = ["--original", str(folder / case["program"] / "before"), "--report", str(report)]
        command = [sys.executable, "-m", "jaxmigrate", "verify", ".", *options, "--", *case["command"]]
        try:
            told = subprocess.run(
                command, cwd=place, env=environment, capture_output=True, text=True, check=False, timeout=timeout
            )
        except subprocess.TimeoutExpired:
            return Judged("timeout", ok=False, sites=(), outputs_equal=None, message="", runs=0, seconds=timeout)
        seconds = time.monotonic() - started
        if not report.exists():
            message = (told.stderr.strip().splitlines() or [""])[-1]
            return Judged("none", ok=False, sites=(), outputs_equal=None, message=message, runs=0, seconds=seconds)
        found = json.loads(report.read_text())["verification"]
    bad = [site for site in found["sites"] if site["verdict"] not in ("bitwise equal", *WITHIN)]
    bad.sort(key=lambda site: site["first"]["order"] if site["first"] else 1 << 30)
    names = tuple(f"{site['site']['path']}:{site['site']['name']}" for site in bad)
    equal = found.get("outputs_equal", found.get("stdout_equal"))
    return Judged(
        found["verdict"], found["verdict"] in EQUAL, names, equal, found["message"], len(found["runs"]), seconds
    )


WITHIN = ("equal within rounding", "equal within tolerance")
EQUAL = ("bitwise equal", *WITHIN)


def names_the_site(case: Mapping[str, Any], judged: Judged) -> bool:
    """Whether the first site that differs is the wrong one; of mistakes in host code, what is printed tells as well."""
    wanted = str(case.get("site", ""))
    host, _, site = wanted.rpartition(" ")
    if wanted == "host" or (host and judged.outputs_equal is False):
        return judged.outputs_equal is False or bool(judged.sites)
    name = site.rpartition(":")[2]
    names = [name if _is_called(found.partition(":")[2], name) else found for found in judged.sites]
    # A program that crashed, or prints something else, has no site that differs first: the message names one.
    told = f"({name})" in judged.message or f".{name})" in judged.message
    told = told and (not judged.sites or judged.verdict == "failed")
    return name in names[:1] or (bool(host) and name in names) or told


def _is_called(found: str, name: str) -> bool:
    """Whether what is mapped at a site is, or wraps, a function of a name: `<lambda>` is how Python calls lambdas."""
    return found.startswith("lambda") if name == "<lambda>" else bool(re.search(rf"(?<!\w){re.escape(name)}\b", found))


def table(cases: Sequence[Mapping[str, Any]], judged: Mapping[str, Judged]) -> list[str]:
    """A line for each kind: how many there are, how many were judged rightly, how many at the right site."""
    lines = [f"{'kind':24}{'cases':>7}{'judged rightly':>16}{'right site':>12}"]
    kinds = sorted({case["kind"] for case in cases}, key=lambda kind: (kind != CORRECT, kind))
    totals = [0, 0, 0]
    for kind in kinds:
        of_kind = [case for case in cases if case["kind"] == kind and key(case) in judged]
        right = [case for case in of_kind if judged[key(case)].ok is case["right"] and judged[key(case)].runs]
        sites = [case for case in right if not case["right"] and names_the_site(case, judged[key(case)])]
        counts = (len(of_kind), len(right), len(sites))
        if kind != CORRECT:
            totals = [total + count for total, count in zip(totals, counts, strict=True)]
        lines.append(f"{kind:24}{counts[0]:7}{counts[1]:16}{'' if kind == CORRECT else counts[2]:>12}")
    lines.append(f"{'wrong ones together':24}{totals[0]:7}{totals[1]:16}{totals[2]:12}")
    return lines


def key(case: Mapping[str, Any]) -> str:
    """What a case is called in results."""
    return f"{case['program']}/{case['migration']}"


def _read(file: Path | None) -> dict[str, Judged]:
    if file is None or not file.exists():
        return {}
    return {
        name: Judged(**{**found, "sites": tuple(found["sites"])})
        for name, found in json.loads(file.read_text()).items()
    }


def _tell(case: Mapping[str, Any], judged: Judged) -> str:
    good = judged.ok is case["right"] and bool(judged.runs)
    site = "" if case["right"] or not good else ", right site" if names_the_site(case, judged) else ", OTHER SITE"
    right = "right" if case["right"] else case["kind"]
    return (
        f"{'good' if good else 'BAD ':4} {key(case)} ({right}{site}): {judged.verdict}, {judged.runs} runs, "
        f"{judged.seconds:.0f} s: {judged.message[:160]}"
    )


def main() -> int:
    """Prints a line for each case and the table; 1 if any was judged wrongly."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--half", default="")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--results", type=Path)
    parser.add_argument("--version", type=Path)
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--again", action="store_true", help="verify anew what is in the results")
    parser.add_argument("--timeout", type=int, default=600)
    options = parser.parse_args()
    if options.folder is None:
        with tempfile.TemporaryDirectory() as own:
            _lay_out(Path(own))
            return _run(Path(own).resolve(), options)
    return _run(options.folder.resolve(), options)


def _lay_out(folder: Path) -> None:
    """The repository's own gallery, in this form."""
    cases = []
    for number, case in enumerate(CASES):
        before = folder / case.program / "before"
        name = f"{number:02}-{case.migration}-{case.kind or CORRECT}".replace(" ", "-")
        place = folder / case.program / "migrations" / name
        for one, text in ((before, (GALLERY / case.program / "before.py").read_text()), (place, text_of(case))):
            one.mkdir(parents=True, exist_ok=True)
            (one / "main.py").write_text(text)
        site = f"main.py:{case.site}" if case.site != "host" else "host"
        cases.append(
            {
                "program": case.program,
                "migration": name,
                "right": case.right,
                "kind": case.kind or CORRECT,
                "site": site,
                "command": [sys.executable, "main.py"],
            }
        )
    (folder / "cases.json").write_text(json.dumps(cases))


def _run(folder: Path, options: argparse.Namespace) -> int:
    cases = [case for case in json.loads((folder / "cases.json").read_text()) if options.half in ("", case.get("half"))]
    if options.only:
        cases = [case for case in cases if key(case) in options.only or case["program"] in options.only]
    judged = _read(options.results)
    if options.beside is not None:
        other = _read(options.beside)
        both = [case for case in cases if key(case) in judged and key(case) in other]
        print("\n".join([str(options.results), *table(both, judged), "", str(options.beside), *table(both, other)]))
        for case in both:
            one, two = judged[key(case)], other[key(case)]
            print(f"{key(case)}\t{case['kind']}\t{one.verdict}\t{two.verdict}")
        return 0
    for case in cases:
        if key(case) not in judged or options.again:
            judged[key(case)] = judge(folder, case, options.version, options.timeout)
            if options.results is not None:
                text = json.dumps({name: found._asdict() for name, found in judged.items()}, indent=1)
                options.results.write_text(text)
        print(_tell(case, judged[key(case)]), flush=True)
    print("\n".join(table(cases, judged)))
    return 0 if all(judged[key(case)].ok is case["right"] for case in cases) else 1


if __name__ == "__main__":
    sys.exit(main())
