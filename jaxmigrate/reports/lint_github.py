"""Findings as GitHub Actions workflow commands, which become annotations on a pull request."""

from __future__ import annotations

from jaxmigrate.findings import Finding
from jaxmigrate.reports.in_cells import in_cell
from jaxmigrate.reports.lint_result import LintResult
from jaxmigrate.sources import SourceError


def write(result: LintResult) -> str:
    """One `::error` command a line for each finding and for each file that could not be read."""
    lines = [
        _command(in_cell(finding.message, finding), "error", **_place(finding), title=f"jaxmigrate {finding.code}")
        for finding in result.findings
    ]
    for level, told in (("error", result.errors), ("warning", result.warnings)):
        lines += [_command(in_cell(one.message, one), level, **_start(one), title="jaxmigrate") for one in told]
    return "".join(lines)


def _place(finding: Finding) -> dict[str, str | int]:
    """A pull request shows the lines of files, so a place in a notebook is the line of the file that holds it."""
    if finding.cell:
        return {"file": finding.path, "line": finding.file_line}
    end = {"endLine": finding.end_line, "endColumn": finding.end_column}
    return {"file": finding.path, "line": finding.line, "col": finding.column, **end}


def _start(error: SourceError) -> dict[str, str | int]:
    if error.cell:
        return {"file": error.path, "line": error.file_line}
    return {"file": error.path, "line": error.line, "col": error.column}


def _command(message: str, level: str, /, **properties: str | int) -> str:
    given = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value)
    return f"::{level} {given}::{_data(message)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
