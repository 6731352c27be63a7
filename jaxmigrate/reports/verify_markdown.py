"""A verification for a pull request's comment or a job's summary: the verdict first, then the sites."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from jaxmigrate.reports.figures import effort, largest_errors, layouts_line, seconds, share_of_bound, shell_line
from jaxmigrate.reports.limits import revisions_line
from jaxmigrate.reports.limits_markdown import not_covered
from jaxmigrate.reports.markdown import Link, escaped, fenced, section, table
from jaxmigrate.reports.report import Report, SiteRow, as_report
from jaxmigrate.terminal import plural
from jaxmigrate.verify.model import Evidence, Verdict

_HEADER = ("Site", "Function", "Verdict", "Calls", "Max abs", "Max rel", "Max ulp", "Of what rounding allows")
# Not covered says so of these: nothing is known to differ.
_UNREACHED = Verdict.NOT_EXERCISED
_SIGNS = {
    "bitwise equal": "✅",
    "equal within rounding": "🟰",
    "not exercised": "⚪",
    "nondeterministic": "🎲",
    "different": "❌",
    "failed": "💥",
}


def write(told: Report | Evidence) -> str:
    """A page with the verdict, coverage, a table of sites, what differs, the diff, and how it was run."""
    report = as_report(told)
    parts = [
        *_verdict(report),
        *section(
            "Sites",
            table(
                _HEADER,
                [_row(row, report.links) for row in report.rows],
            ),
        ),
        *section("Layouts", table(("Site", "Arguments", "Results"), _layouts(report))),
        *section("Differences", _differences(report)),
        *section("Not covered", not_covered(report.evidence)),
        *section("Left", table(("Site", "Code", "Reason"), _left(report))),
        *section("Not worked on", [f"- {escaped(text)}" for text in (*report.errors, *report.notebooks)]),
        *section("Diff", fenced("".join(file.diff_text for file in report.files), "diff")),
        *_runs(report.evidence),
    ]
    return "\n".join(parts)


def _verdict(report: Report) -> list[str]:
    evidence = report.evidence
    if evidence is None:
        return [f"# {report.headline}\n", *([f"{escaped(report.summary)}.\n"] if report.summary else [])]
    found = evidence.coverage
    covered = f"{found.exercised} of {plural(found.sites, 'site')} exercised, {found.equal + found.within} equal"
    notes = [f"- {escaped(note)}" for note in evidence.notes]
    return [
        f"# {_SIGNS[evidence.verdict.value]} {report.headline}\n",
        f"{escaped(evidence.message)}\n",
        *([f"{escaped(evidence.hint)}\n"] if evidence.hint else []),
        f"{covered}; {effort(evidence)}.\n",
        *([f"Compared: {escaped(revisions_line(evidence))}.\n"] if evidence.revisions else []),
        *(["\n".join(notes) + "\n"] if notes else []),
    ]


def _row(row: SiteRow, links: str) -> Sequence[str]:
    found = row.evidence
    sign = _SIGNS.get(row.verdict, "")
    verdict = f"{sign} {row.verdict}".strip()
    place = Link(row.place, f"{links}/{row.path}#L{row.line}") if links and row.path and not row.cell else row.place
    if found is None:
        return place, row.name, verdict, "", "", "", "", ""
    return place, row.name, verdict, str(found.calls), *largest_errors(found), share_of_bound(found)


def _differences(report: Report) -> list[str]:
    lines = []
    for row in report.rows:
        if row.evidence is not None and row.evidence.follows:
            lines.append(
                f"- {escaped(row.place)}: its arguments already differ, because of {escaped(row.evidence.follows)}"
            )
        elif row.evidence is not None and not (row.evidence.verdict.ok or row.evidence.verdict is _UNREACHED):
            lines.append(f"- **{escaped(row.place)}** {escaped(row.evidence.message)}")
            if row.evidence.first is not None and row.evidence.first.hint:
                lines.append(f"  - {escaped(row.evidence.first.hint)}")
    return lines + [f"- {escaped(told)}" for told in (report.evidence.outputs if report.evidence is not None else ())]


def _layouts(report: Report) -> list[Sequence[str]]:
    """How each site's arrays were held in the runs."""
    found = [(row.place, row.evidence) for row in report.rows if row.evidence is not None and row.evidence.calls]
    return [(place, layouts_line(one.arguments), layouts_line(one.results)) for place, one in found]


def _left(report: Report) -> list[Sequence[str]]:
    return [(row.place, row.code, row.reason) for row in report.rows if row.status == "left"]


def _runs(evidence: Evidence | None) -> list[str]:
    if evidence is None:
        return []
    rows = [(run.name, run.message, str(run.calls), seconds(run.seconds)) for run in evidence.runs]
    versions = next((run.versions for run in evidence.runs if run.versions), {})
    shown = ", ".join(f"{name} {versions[name]}" for name in ("python", "jax", "jaxlib", "numpy") if name in versions)
    tails = [text for run in evidence.runs if not run.ok for text in fenced(run.last_words)]
    return section(
        "Runs",
        [
            *table(("Run", "Outcome", "Calls", "Time"), rows),
            "",
            *fenced(
                "\n".join(shell_line(p.environment, shlex.join(p.command)) for p in evidence.parts or (evidence,)), "sh"
            ),
            *([f"\n{escaped(shown)}"] if shown else []),
            *(["", *tails] if tails else []),
        ],
    )
