"""A verification for the terminal: a line for each site, what differs below it, the verdict last."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from jaxmigrate.reports.figures import effort, held_differently, layouts_line, share_of_bound, short
from jaxmigrate.reports.limits import briefly, revisions_line
from jaxmigrate.reports.report import Report, SiteRow, as_report
from jaxmigrate.terminal import BOLD, CYAN, DIM, GREEN, RED, YELLOW, paint, plural, printable
from jaxmigrate.verify.model import Evidence, SiteEvidence, Verdict

_TAIL = 12
_COLOURS = {
    Verdict.EQUAL: GREEN,
    Verdict.WITHIN: CYAN,
    Verdict.NOT_EXERCISED: YELLOW,
    Verdict.NONDETERMINISTIC: YELLOW,
    Verdict.DIFFERENT: RED,
    Verdict.FAILED: RED,
}


def write(told: Report | Evidence, colour: bool = False, width: int = 100) -> str:
    """The lines that `verify` prints, ending in the verdict and how it was reached."""
    report = as_report(told)
    return "".join(f"{line}\n" for line in _lines(report, colour, width))


def _lines(report: Report, colour: bool, width: int) -> Iterator[str]:
    places = max((len(row.place) for row in report.rows), default=0)
    names = min(30, max((len(row.name) for row in report.rows), default=0))
    for row in report.rows:
        place, name = printable(row.place).ljust(places), printable(row.name)[:names].ljust(names)
        yield f"{place}  {name}  {_verdict(row, colour)}{paint(_measured(row.evidence), DIM, on=colour)}"
        yield from (paint(line, DIM, on=colour) for line in _layouts(row.evidence, width))
        # What is said of all sites, as when the original fails, is said once.
        if row.evidence is None or report.evidence is None or row.evidence.message != report.evidence.message:
            yield from _explained(row, width)
    if report.evidence is not None:
        yield from _ending(report.evidence, colour, width)


def _verdict(row: SiteRow, colour: bool) -> str:
    return paint(row.verdict, _COLOURS[row.evidence.verdict], on=colour) if row.evidence is not None else row.verdict


def _measured(found: SiteEvidence | None) -> str:
    if found is None or not found.calls:
        return ""
    calls = f"  {plural(found.calls, 'call')}"
    if not found.differing or found.worst is None:
        return calls
    relative, ulp = short(found.max_relative), short(found.max_ulp)
    share = f", at most {used} of the rounding bound" if (used := share_of_bound(found)) else ""
    return f"{calls}, {found.differing} not bitwise equal, relative error {relative}, {ulp} ulp{share}"


def _layouts(found: SiteEvidence | None, width: int) -> list[str]:
    """Where a migration made by hand has the site, and how it held arrays where that is not how pmap did."""
    if found is None:
        return []
    place = f"now {found.site.counterpart}" if found.site.counterpart else ""
    sides = [layouts_line(arrays) for arrays in (found.arguments, found.results) if arrays]
    layouts = " -> ".join(sides) if held_differently(found) else ""
    return _wrapped("; ".join(filter(None, (place, layouts))), width)


def _explained(row: SiteRow, width: int) -> Iterator[str]:
    if row.evidence is None:
        yield from _wrapped(f"{row.code} {row.reason}".strip(), width)
    elif row.evidence.follows:
        yield from _wrapped(f"its arguments already differ, because of {row.evidence.follows}", width)
    elif row.evidence.verdict.ok:
        yield from _wrapped(row.evidence.message.partition("; ")[2], width)
    else:
        yield from _wrapped(row.evidence.message, width)
        if row.evidence.first is not None and row.evidence.first.hint:
            yield from _wrapped(f"hint: {row.evidence.first.hint}", width)


def _wrapped(text: str, width: int) -> list[str]:
    margin = " " * 4
    return textwrap.wrap(printable(text), width, initial_indent=margin, subsequent_indent=margin)


def _ending(evidence: Evidence, colour: bool, width: int) -> Iterator[str]:
    for told in evidence.outputs:
        if told not in evidence.message:
            yield from textwrap.wrap(printable(told), width)
    for note in evidence.notes:
        yield from textwrap.wrap(printable(f"note: {note}"), width)
    if evidence.ok and (told := briefly(evidence)):
        yield from (paint(line, DIM, on=colour) for line in textwrap.wrap(told, width))
    if evidence.revisions:
        yield from (paint(line, DIM, on=colour) for line in textwrap.wrap(printable(revisions_line(evidence)), width))
    for run in evidence.runs:
        if run.outcome in ("exited", "signal"):
            margin = paint("| ", DIM, on=colour)
            yield from (f"{margin}{printable(line)}" for line in run.last_words.splitlines()[-_TAIL:])
    verdict = paint(evidence.verdict.value, BOLD, _COLOURS[evidence.verdict], on=colour)
    yield f"{verdict}: {printable(evidence.message)} ({effort(evidence)})"
