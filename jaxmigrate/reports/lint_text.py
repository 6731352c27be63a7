"""Findings for a person: one line each that editors can jump to, and on a terminal the line of code with a caret."""

from __future__ import annotations

from jaxmigrate.findings import Finding
from jaxmigrate.reports.lint_result import LintResult
from jaxmigrate.sources import shown_path
from jaxmigrate.terminal import BOLD, CYAN, DIM, RED, indent_like, paint, printable

_WIDTH = 120


def write(result: LintResult, excerpts: bool = False, colour: bool = False) -> str:
    """The findings as `path:line:col CODE message` lines, or an empty string.

    Args:
        result: What was found.
        excerpts: Whether each is followed by its line of source, a caret, and its notes.
        colour: Whether to use terminal colours.
    """
    return "".join(f"{line}\n" for finding in result.findings for line in _lines(finding, result, excerpts, colour))


def write_statistics(result: LintResult) -> str:
    """How often each rule fired, one rule a line, or an empty string."""
    rows = [(str(count), code, result.titles.get(code, "")) for code, count in result.statistics()]
    width = max((len(row[0]) for row in rows), default=0)
    return "".join(f"{count:>{width}}  {code}  {title}".rstrip() + "\n" for count, code, title in rows)


def _lines(finding: Finding, result: LintResult, excerpts: bool, colour: bool) -> list[str]:
    place = paint(
        printable(f"{shown_path(finding.path, finding.cell)}:{finding.line}:{finding.column}"), BOLD, on=colour
    )
    head = f"{place} {paint(finding.code, RED, BOLD, on=colour)} {printable(finding.message)}"
    if not excerpts:
        return [head]
    return [head, *_excerpt(finding, result, colour), *_notes(finding, colour)]


def _excerpt(finding: Finding, result: LintResult, colour: bool) -> list[str]:
    source = result.sources.get(finding.path)
    line = "" if source is None else source.line(finding.line, finding.cell)
    if not line.strip():
        return []
    start = max(0, finding.column - 1 - _WIDTH // 2) if len(line) > _WIDTH else 0
    shown, before = printable(line[start : start + _WIDTH]), line[start : finding.column - 1]
    margin = " " * len(str(finding.line))
    caret = paint("^" * _caret_length(finding, len(shown) - len(before)), RED, BOLD, on=colour)
    return [
        f"{paint(f'{finding.line} |', CYAN, on=colour)} {shown}",
        f"{paint(f'{margin} |', CYAN, on=colour)} {indent_like(before)}{caret}",
    ]


def _caret_length(finding: Finding, room: int) -> int:
    if finding.end_line == finding.line and finding.end_column > finding.column:
        return max(1, min(finding.end_column - finding.column, room))
    return 1 if finding.end_line in (0, finding.line) else max(1, room)


def _notes(finding: Finding, colour: bool) -> list[str]:
    places = [(f"{shown_path(note.path, note.cell)}:{note.line}:{note.column}", note.message) for note in finding.notes]
    return [f"  {paint(printable(place), DIM, on=colour)} {printable(message)}" for place, message in places]
