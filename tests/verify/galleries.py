"""A gallery of migrations made by hand, right and wrong ones, with the verdict that each must have.

`gallery/PROGRAM` has `before.py` and right migrations of it. A wrong one is a right one with a mistake: texts that
stand for others in it. A case names the site that is to blame, `host` where it is what is done with a site's results.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.commands.planning import plan_files
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.sources import decode
from jaxmigrate.verify.model import Evidence, SiteInfo, VerifyRequest, cause_of
from jaxmigrate.verify.run import verify
from jaxmigrate.verify.session import Originals
from tests.verify.gallery_cases import CASES, Case

GALLERY = Path(__file__).parent / "gallery"


def text_of(case: Case) -> str:
    """The migration's text."""
    text = (GALLERY / case.program / f"{case.migration}.py").read_text(encoding="utf-8")
    for right, wrong in case.edits:
        assert text.count(right) == 1, (case.name, right, text.count(right))
        text = text.replace(right, wrong)
    return text


class Program(NamedTuple):
    """An original as a verification is given it: its text with marks, and its sites."""

    marked: bytes
    sites: tuple[SiteInfo, ...]


def program(name: str, path: Path) -> Program:
    """The original of a name, as if it stood at a path."""
    raw = (GALLERY / name / "before.py").read_bytes()
    (planned,), _ = plan_files([decode(raw, path.name, path)], PlanOptions("stacked", marks=True))
    sites = tuple(
        SiteInfo(site.id, site.path, site.line, site.column, site.axis or "", site.mapped) for site in planned.sites
    )
    return Program(planned.plan.marked_before.encode(), sites)


def programs(root: Path, cases: Iterable[Case]) -> dict[str, Program]:
    """The originals of the cases by name, each in a folder of its own."""
    return {name: program(name, root / name / "main.py") for name in dict.fromkeys(case.program for case in cases)}


def judged(root: Path, cases: list[Case], befores: Mapping[str, Program]) -> Iterator[tuple[Case, Evidence]]:
    """The verdict on each; the originals run once."""
    with Originals() as originals:
        for case in cases:
            folder, before = root / case.program, befores[case.program]
            folder.mkdir(exist_ok=True)
            request = VerifyRequest(
                root=folder,
                command=(sys.executable, "main.py"),
                original={"main.py": before.marked},
                migrated={"main.py": text_of(case).encode()},
                sites=before.sites,
                by_hand=True,
                unmarked=not before.sites,
                timeout=120.0,
            )
            yield case, verify(request, originals=originals)


def fault(case: Case, evidence: Evidence) -> str:
    """What is wrong with a verdict, empty where it is right: a mistake must be found, and at its site."""
    if case.right:
        return "" if evidence.ok else f"refuted, though right: {_told(evidence)}"
    if evidence.ok:
        return f"accepted, though wrong: {evidence.message}"
    if evidence.original_failed:
        return f"the original did not run: {evidence.message}"
    if case.site == "host":
        return "" if evidence.outputs else f"what is printed was not seen to differ: {evidence.message}"
    cause = cause_of(evidence.sites)
    named = cause.site.name if cause is not None else evidence.message
    return "" if case.site in named else f"blamed {named!r}, not {case.site}: {evidence.message}"


def _told(evidence: Evidence) -> str:
    """All that a verdict says, for a reader who cannot run it again."""
    sites = [f"{site.site}: {site.message}" for site in evidence.sites]
    runs = [f"{run.side} {run.outcome}, {run.calls} calls, {run.traced} traced" for run in evidence.runs]
    return "; ".join([evidence.message, *sites, *runs, *evidence.notes])


def main(names: list[str]) -> int:
    """Prints the verdict on the cases that are named, or all; 1 where one is wrong."""
    import tempfile

    chosen = [case for case in CASES if not names or case.program in names or case.name in names]
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for case, evidence in judged(root, chosen, programs(root, chosen)):
            wrong = fault(case, evidence)
            faults += bool(wrong)
            told = f"{'BAD' if wrong else 'good'} {case.name}: {evidence.verdict.value}, {len(evidence.runs)} runs, "
            print(f"{told}{evidence.seconds:.1f} s: {wrong or evidence.message[:200]}", flush=True)
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
