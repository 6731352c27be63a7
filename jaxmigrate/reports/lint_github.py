"""Findings as GitHub Actions workflow commands, which become annotations on a pull request."""

from __future__ import annotations

from jaxmigrate.reports.lint_result import LintResult


def write(result: LintResult) -> str:
    """One `::error` command a line for each finding and for each file that could not be read."""
    lines = [
        _command(
            finding.message,
            file=finding.path,
            line=finding.line,
            col=finding.column,
            endLine=finding.end_line,
            endColumn=finding.end_column,
            title=f"jaxmigrate {finding.code}",
        )
        for finding in result.findings
    ]
    lines += [_command(e.message, file=e.path, line=e.line, col=e.column, title="jaxmigrate") for e in result.errors]
    lines += [_command(w.message, "warning", file=w.path, line=w.line, title="jaxmigrate") for w in result.warnings]
    return "".join(lines)


def _command(message: str, level: str = "error", **properties: str | int) -> str:
    given = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items() if value)
    return f"::{level} {given}::{_data(message)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
