"""What `fix` did, for a pull request's description or a job's summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jaxmigrate.migrate.plan import SitePlan
from jaxmigrate.reports.fix_result import FixResult
from jaxmigrate.verify.model import Evidence


def write(result: FixResult) -> str:
    """A page with the summary, a table of sites, what was left and why, and the diff."""
    parts = [
        "# jaxmigrate fix\n",
        f"{result.summary()}.\n",
        *_verification(result.evidence),
        *_section("Sites", _table(("Place", "Axis", "Mapped", "Status"), map(_row, result.sites))),
        *_section("Left", _table(("Place", "Code", "Reason"), map(_left_row, result.left))),
        *_section("Not worked on", [f"- {_escaped(str(error))}" for error in result.errors]),
        *_section("Notebooks that are not rewritten yet", [f"- {_escaped(name)}" for name in result.notebooks]),
        *_section("Diff", _fenced("".join(file.diff_text for file in result.files))),
    ]
    return "\n".join(parts)


def _verification(evidence: Evidence | None) -> list[str]:
    if evidence is None:
        return []
    return [f"Verification: **{evidence.verdict.value}**. {_escaped(evidence.message)}\n"]


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"## {title}\n", "\n".join(lines) + "\n"] if lines else []


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(_escaped(cell) for cell in row)} |" for row in rows]
    return [f"| {' | '.join(header)} |", f"|{' --- |' * len(header)}", *lines] if lines else []


def _row(site: SitePlan) -> tuple[str, str, str, str]:
    return f"{site.path}:{site.line}", site.axis or "", site.mapped, site.status


def _left_row(site: SitePlan) -> tuple[str, str, str]:
    return f"{site.path}:{site.line}:{site.column}", site.code, site.reason


def _escaped(text: str) -> str:
    """One line that Markdown takes literally, also inside a table."""
    flat = " ".join(text.split())
    return "".join(f"\\{character}" if character in "\\`*_{}[]<>|#" else character for character in flat)


def _fenced(diff: str) -> list[str]:
    if not diff:
        return []
    fence = "```"
    while fence in diff:
        fence += "`"
    return [f"{fence}diff", diff.rstrip("\n"), fence]
