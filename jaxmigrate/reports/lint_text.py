"""Findings for a person: one line each that editors can jump to, and on a terminal the line of code with a caret."""

from __future__ import annotations

from jaxmigrate.findings import Finding
from jaxmigrate.reports.lint_result import LintResult
from jaxmigrate.sources import shown_path
from jaxmigrate.terminal import BOLD, CYAN, DIM, RED, fitted, indent_like, paint, printable

FIXABLE = "[*] "  # what `lint --fix` mends
_WIDTH = 120


def write(result: LintResult, excerpts: bool = False, colour: bool = False, width: int = 0) -> str:
    """The findings as `path:line:col CODE message` lines, or an empty string.

    Args:
        result: What was found.
        excerpts: Whether each is followed by its line of source, a caret, and its notes.
        colour: Whether to use terminal colours.
        width: The columns that there are for it; 0 for any number.
    """
    lines = (line for finding in result.findings for line in _lines(finding, result, excerpts, colour, width))
    return "".join(f"{line}\n" for line in lines)


def write_statistics(result: LintResult) -> str:
    """How often each rule fired, one rule a line, or an empty string."""
    rows = [(str(count), code, result.titles.get(code, "")) for code, count in result.statistics()]
    width = max((len(row[0]) for row in rows), default=0)
    return "".join(f"{count:>{width}}  {code}  {title}".rstrip() + "\n" for count, code, title in rows)


def _lines(finding: Finding, result: LintResult, excerpts: bool, colour: bool, width: int) -> list[str]:
    place = printable(f"{shown_path(finding.path, finding.cell)}:{finding.line}:{finding.column}")
    painted = f"{paint(place, BOLD, on=colour)} {paint(finding.code, RED, BOLD, on=colour)}"
    mark = FIXABLE if finding.fix.edits else ""
    plain = fitted(f"{place} {finding.code} {mark}{printable(finding.message)}", width)
    head = plain.replace(f"{place} {finding.code}", painted, 1)
    if not excerpts:
        return [head]
    return [head, *_excerpt(finding, result, colour, width), *_notes(finding, colour, width)]


def _excerpt(finding: Finding, result: LintResult, colour: bool, width: int) -> list[str]:
    source = result.sources.get(finding.path)
    line = "" if source is None else source.line(finding.line, finding.cell)
    if not line.strip():
        return []
    margin = " " * len(str(finding.line))
    room = max(min(_WIDTH, width - len(margin) - 3), 20) if width else _WIDTH
    start = max(0, finding.column - 1 - room // 2) if len(line) > room else 0
    shown, before = printable(line[start : start + room]), line[start : finding.column - 1]
    caret = paint("^" * _caret_length(finding, len(shown) - len(before)), RED, BOLD, on=colour)
    return [
        f"{paint(f'{finding.line} |', CYAN, on=colour)} {shown}",
        f"{paint(f'{margin} |', CYAN, on=colour)} {indent_like(before)}{caret}",
    ]


def _caret_length(finding: Finding, room: int) -> int:
    if finding.end_line == finding.line and finding.end_column > finding.column:
        return max(1, min(finding.end_column - finding.column, room))
    return 1 if finding.end_line in (0, finding.line) else max(1, room)


def _notes(finding: Finding, colour: bool, width: int) -> list[str]:
    found = []
    for note in finding.notes:
        place = printable(f"{shown_path(note.path, note.cell)}:{note.line}:{note.column}")
        found.append(
            fitted(f"  {place} {printable(note.message)}", width).replace(place, paint(place, DIM, on=colour), 1)
        )
    return found
