"""A report as one HTML page that needs nothing beside it: no script, no font, no network."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib import resources

from jaxmigrate import __version__
from jaxmigrate.migrate.plan import ArrayLayout
from jaxmigrate.reports.assumptions import assumptions
from jaxmigrate.reports.figures import largest_errors, seconds, share_of_bound, shell_line, short
from jaxmigrate.reports.fix_result import FixedFile
from jaxmigrate.reports.html_causes import causes, stacked
from jaxmigrate.reports.html_diff import counts, side_by_side
from jaxmigrate.reports.html_plot import error_plots
from jaxmigrate.reports.html_sites import Changes, anchor, at_line, site_changes
from jaxmigrate.reports.html_text import code, pairs, preformatted, prose, section, table
from jaxmigrate.reports.limits import untouched
from jaxmigrate.reports.report import Report, SiteRow
from jaxmigrate.terminal import plural
from jaxmigrate.verify.model import CallDifference, Evidence, RunSummary, SeenLayout, SiteEvidence, Verdict

_TONES = {
    Verdict.EQUAL: "equal",
    Verdict.WITHIN: "within",
    Verdict.NOT_EXERCISED: "unseen",
    Verdict.NONDETERMINISTIC: "chance",
    Verdict.DIFFERENT: "different",
    Verdict.FAILED: "failed",
}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def write(report: Report) -> str:
    """The whole document."""
    changes = site_changes(report)
    parts = [
        _header(report),
        _figures(report),
        _coverage(report.rows),
        section("Assumptions", [_list(list(assumptions(report))), _untouched(report.evidence)]),
        section("Sites", [table(_SITE_HEADER, map(_site_row, report.rows), numbers=(5, 6, 7, 8))]),
        section("Site by site", (_details(row, changes) for row in report.rows)),
        section("Other changes", (_change(file, changes) for file in report.files if changes.rest.get(file.path))),
        section("Why arrays stay stacked", [causes(report.rows)]),
        section("Not worked on", [_list([*report.errors, *report.notebooks])]),
        *(_how_it_was_run(report.evidence) if report.evidence is not None else ()),
    ]
    return document(f"jaxmigrate {report.title}: {report.headline}", parts)


def document(title: str, parts: Iterable[str]) -> str:
    """A page of parts that are HTML already."""
    style = resources.files("jaxmigrate.reports").joinpath("page.css").read_text(encoding="utf-8")
    body = "\n".join([*(part for part in parts if part), f"<footer>jaxmigrate {escape(__version__)}</footer>"])
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _untouched(evidence: Evidence | None) -> str:
    """The sites that do not count, folded."""
    if evidence is None or not evidence.untouched:
        return ""
    names = "".join(f"<li>{code(name)}</li>" for name in evidence.untouched)
    return f"<details><summary>{escape(untouched(evidence))}</summary><ul>{names}</ul></details>"


def _header(report: Report) -> str:
    tone = _TONES[report.evidence.verdict] if report.evidence is not None else ""
    told = [report.summary]
    if report.evidence is not None:
        outputs = [
            f"{text[0].upper()}{text[1:]}" for text in report.evidence.outputs if text not in report.evidence.message
        ]
        told = [report.evidence.message, *outputs, *report.evidence.notes]
    lines = "\n".join(f"<p>{prose(text)}</p>" for text in told if text)
    if report.evidence is not None and report.evidence.hint:
        lines += f'\n<p class="hint">{prose(report.evidence.hint)}</p>'
    return (
        f'<header class="{tone}">\n<div class="brand">jaxmigrate {escape(report.title)}</div>\n'
        f"<h1>{escape(report.headline)}</h1>\n{lines}\n</header>"
    )


def _figures(report: Report) -> str:
    rows = report.rows
    figures = [(str(sum(row.status == "rewritten" for row in rows)), "sites rewritten")]
    left = sum(row.status == "left" for row in rows)
    figures += [(str(left), "left as they were")] if left else []
    if report.evidence is not None:
        found = report.evidence.coverage
        figures += [
            (f"{found.exercised} / {found.sites}", "sites exercised"),
            (f"{found.equal + found.within} / {found.sites}", "sites equal"),
            (f"{sum(site.calls for site in report.evidence.sites):,}", "calls compared"),
            (str(report.evidence.devices), "devices"),
            (seconds(report.evidence.seconds), f"in {plural(len(report.evidence.runs), 'run')}"),
        ]
    cells = "\n".join(f"<div><b>{escape(number)}</b><span>{escape(what)}</span></div>" for number, what in figures)
    return f'<div class="figures">\n{cells}\n</div>' if rows else ""


def _coverage(rows: Sequence[SiteRow]) -> str:
    """A bar in which every verified site has the same share."""
    verdicts = [row.evidence.verdict for row in rows if row.evidence is not None]
    counts = [(verdict, verdicts.count(verdict)) for verdict in Verdict if verdict in verdicts]
    bar = "".join(f'<i class="{_TONES[verdict]}" style="flex:{count}"></i>' for verdict, count in counts)
    names = "".join(
        f'<span class="{_TONES[verdict]}"><i></i>{count} {escape(verdict.value)}</span>' for verdict, count in counts
    )
    return f'<div class="cover">{bar}</div>\n<div class="legend">{names}</div>' if counts else ""


_ONE_LINE = 28
# Verdicts with nothing more to look at.
_SILENT = frozenset({Verdict.EQUAL, Verdict.NOT_EXERCISED})
_SITE_HEADER = ("Site", "Function", "Axis", "Verdict", "Layouts", "Calls", "Max abs", "Max rel", "Max ulp")
_LAYOUT_TONES = frozenset({"replicated", "split", "stacked"})


def _site_row(row: SiteRow) -> Sequence[str]:
    place = f'<a href="#{anchor(row)}">{code(row.place)}</a>'
    verdict = _chip(row.verdict, row.evidence)
    found = row.evidence
    numbers = (str(found.calls), *largest_errors(found)) if found is not None else ("", "", "", "")
    layouts = _layout_counts(found) if found is not None else ""
    return place, code(row.name), code(row.axis), verdict, layouts, *numbers


def _chip(text: str, found: SiteEvidence | None) -> str:
    tone = f" {_TONES[found.verdict]}" if found is not None else ""
    return f'<span class="chip{tone}">{escape(text)}</span>'


def _details(row: SiteRow, changes: Changes) -> str:
    found = row.evidence
    tone = _TONES[found.verdict] if found is not None else ""
    change = changes.of_site(row)
    opened = " open" if change or (found is not None and found.verdict not in _SILENT) else ""
    summary = f"{code(row.place)} {code(row.name)} {_chip(row.verdict, found)}"
    inside = "\n".join(
        part for part in (*_facts(row, change), *(_findings(found) if found is not None else ()), change) if part
    )
    return (
        f'<details class="{tone}" id="{anchor(row)}"{opened}><summary>{summary}</summary>\n'
        f'<div class="inside">\n{inside}\n</div></details>'
    )


def _facts(row: SiteRow, change: str) -> Iterator[str]:
    if row.status == "left":
        yield f"<p>Left as it was: {prose(row.reason)} {code(row.code)}</p>"
    if row.evidence is not None:
        yield f"<p>{prose(row.evidence.message)}</p>"
    found = row.evidence
    seen = (found.arguments, found.results) if found is not None and found.calls else ((), ())
    place = f"{at_line(row.path)}{row.line}"
    yield pairs(
        [
            ("In the diff", f'<a href="#{place}">line {row.line}</a>' if f'id="{place}"' in change else ""),
            ("In the migration", code(found.site.counterpart) if found is not None else ""),
            *_planned_and_seen("Arguments", row.arguments, seen[0]),
            *_planned_and_seen("Results", row.outputs, seen[1]),
            ("Not proven", "<br>".join(prose(str(one)) for one in row.assumed)),
            ("Stacked", "<br>".join(stacked(row))),
        ]
    )


def _planned_and_seen(
    what: str, planned: Sequence[ArrayLayout], seen: Sequence[SeenLayout]
) -> tuple[tuple[str, str], ...]:
    """The layouts of a plan and of the runs; once where they are the same."""
    if [array.layout for array in planned] == [array.layout for array in seen]:
        return ((what, _layouts(planned)),)
    return ((f"{what}, as planned", _layouts(planned)), (f"{what}, in the runs", _layouts(seen)))


def _layouts(arrays: Iterable[ArrayLayout | SeenLayout]) -> str:
    names = (
        f'<span class="array">{code("all" if array.name == "*" else array.name or "result")}{_tag(array.layout)}'
        f"{_graded(array)}</span>"
        for array in arrays
    )
    return " ".join(names)


def _graded(array: ArrayLayout | SeenLayout) -> str:
    """The grade of the evidence for what was planned."""
    grade = getattr(array, "grade", "")
    return f'<span class="grade {grade}">{grade}</span>' if grade else ""


def _tag(layout: str, text: str = "") -> str:
    """A layout in its colour."""
    kind = layout if layout in _LAYOUT_TONES else "other"
    return f'<span class="lay {kind}">{escape(text or layout)}</span>'


def _layout_counts(found: SiteEvidence) -> str:
    """How many of a site's arguments and results, or parts of them, were held in which layout."""
    layouts = [array.layout for array in (*found.arguments, *found.results)]
    return " ".join(_tag(layout, f"{layouts.count(layout)} {layout}") for layout in dict.fromkeys(sorted(layouts)))


def _findings(found: SiteEvidence) -> Iterator[str]:
    if found.first is not None and found.first.hint:
        yield f'<p class="hint">{prose(found.first.hint)}</p>'
    yield pairs(
        [
            ("Calls", escape(_calls(found))),
            ("Largest error", _errors(found)),
            ("Inside other mapped calls", ", ".join(code(site) for site in found.covered_by)),
        ]
    )
    yield error_plots(found.errors, found.calls)
    yield table(
        ("Call", "Leaf", "Kind", "Original", "Rewritten", "Absolute", "Relative", "Ulp"),
        map(_difference_row, found.differences),
        numbers=(5, 6, 7),
    )


def _errors(found: SiteEvidence) -> str:
    absolute, relative, ulp = largest_errors(found)
    share = f", at most {used} of the rounding bound" if (used := share_of_bound(found)) else ""
    return f"{absolute} absolute, {relative} relative, {ulp} ulp{share}" if absolute else ""


def _calls(found: SiteEvidence) -> str:
    parts = [f"{found.calls} compared"]
    if found.calls_original != found.calls_rewritten:
        parts.append(f"{found.calls_original} in the original, {found.calls_rewritten} in the rewritten program")
    if found.differing:
        parts.append(f"{found.differing} not bitwise equal (error measured for {found.measured})")
    if found.traced:
        parts.append(f"{found.traced} under tracing")
    return ", ".join(parts)


def _difference_row(difference: CallDifference) -> Sequence[str]:
    error = difference.error
    numbers = (short(error.absolute), short(error.relative), short(error.ulp)) if error is not None else ("", "", "")
    where = {"input": "argument", "output": "result"}.get(difference.where, "")
    index = f" at {list(error.index)}" if error is not None and error.index else ""
    leaf = f'<span class="soft">{where}</span> {code(difference.leaf + index)}'
    values = map(_value, (difference.original, difference.rewritten))
    kind = f'<span class="kept">{escape(difference.kind)}</span>'
    return str(difference.call), leaf, kind, *values, *numbers


def _value(text: str) -> str:
    """A number, or what else stands in its place, in one line unless it is long."""
    return f'<span class="kept">{code(text)}</span>' if len(text) <= _ONE_LINE else code(text)


def _list(texts: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{prose(text)}</li>' for text in texts)}</ul>" if texts else ""


def _change(file: FixedFile, changes: Changes) -> str:
    """What changes in a file and stands beside no site, such as imports and callers."""
    rest = changes.rest[file.path]
    added, cut = counts(rest)
    changed = f'<span class="equal tone">+{added}</span> <span class="different tone">−{cut}</span>'
    outcome = f'<span class="soft">{escape(file.outcome)}</span> ' if file.outcome != "shown" else ""
    summary = f"{code(file.path)} {outcome}{changed}"
    return f"<details open><summary>{summary}</summary>\n{side_by_side(rest, at_line(file.path))}</details>"


def _how_it_was_run(evidence: Evidence) -> Iterator[str]:
    parts = evidence.parts or (evidence,)
    commands = "\n".join(shell_line(part.environment, shlex.join(part.command)) for part in parts)
    versions = next((run.versions for run in evidence.runs if run.versions), {})
    shown = [
        (name, code(versions[name])) for name in ("python", "jax", "jaxlib", "numpy", "platform") if name in versions
    ]
    tolerances = ", ".join(f"{name} {short(bound.rtol)}" for name, bound in evidence.tolerances.items())
    yield section(
        "How it was run",
        [
            preformatted(commands),
            table(("Run", "Outcome", "Mapped calls", "Time"), map(_run_row, evidence.runs), numbers=(2, 3)),
            *(_failure(run) for run in evidence.runs if not run.ok),
            pairs(
                [
                    *shown,
                    ("folder", code(evidence.cwd)),
                    *((side, code(told)) for side, told in evidence.revisions.items()),
                    ("processes", str(evidence.processes) if evidence.processes > 1 else ""),
                    ("relative tolerances", escape(tolerances)),
                    ("printed and written", escape(_printed(evidence))),
                ]
            ),
        ],
    )


def _run_row(run: RunSummary) -> Sequence[str]:
    outcome = run.outcome if run.ok else run.message
    return escape(run.name), escape(outcome), str(run.calls), seconds(run.seconds)


def _failure(run: RunSummary) -> str:
    texts = [text for text in (run.stack, run.last_words) if text]
    if not texts:
        return ""
    inside = "".join(preformatted(text) for text in texts)
    return (
        f'<details class="failed" open><summary>What the {escape(run.name)} program said last</summary>'
        f'<div class="inside">{inside}</div></details>'
    )


def _printed(evidence: Evidence) -> str:
    if evidence.outputs_equal is None:
        return ""
    return "the same" if evidence.outputs_equal else f"not the same: {'; '.join(evidence.outputs)}"
