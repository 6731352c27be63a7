"""What `fix` did, as one page that needs nothing beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from jaxmigrate import __version__
from jaxmigrate.migrate.plan import ArrayLayout, SitePlan
from jaxmigrate.reports.fix_result import FixedFile, FixResult
from jaxmigrate.verify.model import Evidence, SiteEvidence

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #cf222e; --soft: #8881; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; vertical-align: top; }
th, td { border-bottom: 1px solid var(--line); padding: .4rem .6rem; }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
pre { overflow-x: auto; padding: .8rem; background: var(--soft); }
.good { color: var(--good); } .bad { color: var(--bad); }
ins, del { text-decoration: none; display: block; } ins { background: #2da44e33; } del { background: #cf222e33; }
summary { cursor: pointer; padding: .3rem 0; } footer { margin-top: 3rem; opacity: .7; }
"""


def write(result: FixResult) -> str:
    """A complete HTML document: summary, verdict, sites, what was left and why, and each file's diff."""
    body = [
        "<h1>jaxmigrate fix</h1>",
        f"<p>{escape(result.summary())}.</p>",
        *_verification(result.evidence),
        *_section("Sites", _table(("Place", "Axis", "Mapped", "Arguments", "Status"), map(_row, result.sites))),
        *_section("Left, and why", _table(("Place", "Code", "Reason"), map(_left_row, result.left))),
        *_section("Not worked on", _items([*map(str, result.errors), *result.notebooks])),
        *_section("Changes", [_diff(file) for file in result.files if file.diff]),
        f"<footer>jaxmigrate {__version__}</footer>",
    ]
    head = f'<meta charset="utf-8"><title>jaxmigrate fix</title><style>{_STYLE}</style>'
    return f"<!doctype html>\n<html lang=en><head>{head}</head><body>\n" + "\n".join(body) + "\n</body></html>\n"


def _verification(evidence: Evidence | None) -> list[str]:
    if evidence is None:
        return []
    header = ("Site", "Verdict", "Calls compared", "Largest absolute", "relative", "ulp")
    return [
        "<h2>Verification</h2>",
        f"<p><strong>{_verdict(evidence.verdict.value, evidence.ok)}</strong> {escape(evidence.message)}</p>",
        f"<p><code>{escape(' '.join(evidence.command))}</code> on {evidence.devices} devices</p>",
        *_table(header, map(_evidence_row, evidence.sites)),
    ]


def _evidence_row(site: SiteEvidence) -> Sequence[str]:
    verdict = _verdict(site.verdict.value, site.verdict.ok)
    errors = (f"{error:.3g}" for error in (site.max_absolute, site.max_relative, site.max_ulp))
    return _code(str(site.site)), f"{verdict} {escape(site.message)}", str(site.calls), *errors


def _verdict(text: str, good: bool) -> str:
    return f'<span class="{"good" if good else "bad"}">{escape(text)}</span>'


def _row(site: SitePlan) -> Sequence[str]:
    place = _code(f"{site.path}:{site.line}")
    status = _verdict(site.status, site.status == "rewritten")
    return place, _code(site.axis or ""), _code(site.mapped), _layouts(site.arguments), status


def _layouts(arrays: Sequence[ArrayLayout]) -> str:
    return "<br>".join(f"{_code(array.name)} {array.layout}" for array in arrays)


def _left_row(site: SitePlan) -> Sequence[str]:
    return _code(f"{site.path}:{site.line}:{site.column}"), escape(site.code), escape(site.reason)


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>" if text else ""


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"<h2>{title}</h2>", *lines] if lines else []


def _items(texts: Sequence[str]) -> list[str]:
    return ["<ul>", *(f"<li>{escape(text)}</li>" for text in texts), "</ul>"] if texts else []


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table of cells that are HTML already, or nothing where there are no rows."""
    lines = [f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows]
    head = f"<tr>{''.join(f'<th>{title}</th>' for title in header)}</tr>"
    return ["<table>", head, *lines, "</table>"] if lines else []


def _diff(file: FixedFile) -> str:
    lines = "".join(_diff_line(line) for line in file.diff_text.splitlines())
    title = f"<summary>{_code(file.path)} {escape(file.outcome)}</summary>"
    return f"<details open>{title}<pre>{lines}</pre></details>"


def _diff_line(line: str) -> str:
    tag = {"+": "ins", "-": "del"}.get(line[:1])
    return f"<{tag}>{escape(line)}</{tag}>" if tag and line[:3] not in ("+++", "---") else f"{escape(line)}\n"
