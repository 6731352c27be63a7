"""What the person who approves a migration takes on trust: what was assumed, and what was not compared."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.reports.alike import told
from jaxmigrate.reports.fix_result import CAUTION, callers_of
from jaxmigrate.reports.limits import limits, listed
from jaxmigrate.reports.report import Report
from jaxmigrate.reports.site_layouts import is_global
from jaxmigrate.terminal import plural


def assumptions(report: Report) -> Iterator[str]:
    """The assumptions behind a report, one sentence each, backticks around code."""
    yield from _of_the_rewrite(report)
    if report.evidence is not None:
        yield from limits(report.evidence)
    elif any(file.diff for file in report.files):
        yield "Nothing was run: `fix --verify -- COMMAND` or `verify` compares both programs."


def _of_the_rewrite(report: Report) -> Iterator[str]:
    if any(is_global(row) for row in report.rows if row.status == "rewritten"):
        yield "It is assumed that the paths given are the whole program: other code would still pass stacked arrays."
    assumed = dict.fromkeys(one for row in report.rows if row.status == "rewritten" for one in row.assumed)
    yield from (f"{one[0].upper()}{one[1:]}." for one in told(assumed))
    if any(one.grade == "observed" for row in report.rows if row.status == "rewritten" for one in row.assumed):
        yield f"{CAUTION[0].upper()}{CAUTION[1:]}."
    if callers := callers_of(report.files):
        yield f"These files use rewritten code, but fix was not given them, so they are unchanged: {listed(callers)}."
    if report.errors:
        yield f"{plural(len(report.errors), 'file')} could not be read or analysed; see below."
