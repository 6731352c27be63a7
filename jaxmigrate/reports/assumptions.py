"""What the person who approves a migration takes on trust: what was assumed, and what was not compared."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from jaxmigrate.reports.report import Report
from jaxmigrate.reports.site_layouts import is_global
from jaxmigrate.sources import shown_path
from jaxmigrate.terminal import plural
from jaxmigrate.verify.model import Evidence, SiteInfo, Verdict

SHOWN = 5


def assumptions(report: Report) -> Iterator[str]:
    """The assumptions behind a report, one sentence each, backticks around code."""
    yield from _of_the_rewrite(report)
    if report.evidence is not None:
        yield from _of_the_runs(report.evidence)
    elif any(file.diff for file in report.files):
        yield "Nothing was run: `fix --verify -- COMMAND` or `verify` compares both programs."


def _of_the_rewrite(report: Report) -> Iterator[str]:
    if any(is_global(row) for row in report.rows if row.status == "rewritten"):
        yield "The paths given are the whole program: a caller elsewhere may still pass stacked arrays."
    callers = sorted({caller for file in report.files for caller in file.callers})
    if callers:
        yield f"{_listed(callers)} use what is rewritten, were not given, and stay as they are."
    if report.errors:
        yield f"{plural(len(report.errors), 'file')} could not be read or handled; see below."


def _of_the_runs(evidence: Evidence) -> Iterator[str]:
    parts = evidence.parts or (evidence,)
    commands = " and ".join(f"`{shlex.join(part.command)}`" for part in parts)
    yield f"Only what {commands} computes was compared; other inputs, and code that it does not reach, were not."
    unseen = [_place(one.site) for one in evidence.sites if one.verdict is Verdict.NOT_EXERCISED]
    if unseen:
        yield f"Not reached, so nothing is known of it: {_listed(unseen)}."
    within = [_place(one.site) for one in evidence.sites if one.verdict is Verdict.WITHIN]
    if within:
        yield f"Equal only as far as rounding allows, not in every bit: {_listed(within)}."
    if evidence.outputs_equal is None:
        yield "What the programs print and write was not compared."
    platform = next((run.versions["platform"] for run in evidence.runs if "platform" in run.versions), "cpu")
    if platform == "cpu":
        where = plural(evidence.devices, "simulated CPU device")
        yield f"The programs ran on {where}: memory, speed and what else real devices add was not tried."


def _place(site: SiteInfo) -> str:
    return f"{shown_path(site.path, site.cell)}:{site.line}" if site.path else site.id


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:SHOWN])
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown
