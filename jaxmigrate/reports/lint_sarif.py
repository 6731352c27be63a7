"""Findings as SARIF 2.1.0, which code scanning services read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jaxmigrate import __version__
from jaxmigrate.findings import Finding, Note
from jaxmigrate.reports.in_cells import in_cell
from jaxmigrate.reports.lint_result import LintResult
from jaxmigrate.sources import SourceError


def write(result: LintResult) -> str:
    """One SARIF log with one run, whose notifications are the files that could not be read."""
    codes = sorted({*result.titles, *(finding.code for finding in result.findings)})
    driver = {"name": "jaxmigrate", "version": __version__, "rules": [_rule(code, result) for code in codes]}
    run = {
        "tool": {"driver": driver},
        **_shard(result),
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not result.errors,
                "toolExecutionNotifications": [
                    *(_notification(error, "error") for error in result.errors),
                    *(_notification(warning, "warning") for warning in result.warnings),
                ],
            }
        ],
        "results": [_result(finding, codes.index(finding.code)) for finding in result.findings],
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2) + "\n"


def _shard(result: LintResult) -> dict[str, Any]:
    """What keeps services from taking one shard's log for a newer one of another's."""
    if not result.shard:
        return {}
    return {"automationDetails": {"id": f"jaxmigrate/{result.shard}/"}, "properties": {"shard": result.shard}}


def _rule(code: str, result: LintResult) -> dict[str, Any]:
    page = result.pages.get(code)
    help_with = {"help": {"text": page, "markdown": page}} if page is not None else {}
    return {"id": code, "shortDescription": {"text": result.titles.get(code, code)}, **help_with}


def _result(finding: Finding, index: int) -> dict[str, Any]:
    if finding.cell:
        here = _location(finding.path, finding.file_line)
    else:
        here = _location(finding.path, finding.line, finding.column, finding.end_line, finding.end_column)
    related = [
        {"id": number, **_noted(note), "message": {"text": in_cell(note.message, note)}}
        for number, note in enumerate(finding.notes, 1)
    ]
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": "warning",
        "message": {"text": in_cell(finding.message, finding)},
        "locations": [here],
        **({"relatedLocations": related} if related else {}),
    }


def _noted(note: Note) -> dict[str, Any]:
    return _location(note.path, note.file_line) if note.cell else _location(note.path, note.line, note.column)


def _notification(error: SourceError, level: str) -> dict[str, Any]:
    where = (error.file_line,) if error.cell else (error.line, error.column)
    return {
        "level": level,
        "message": {"text": in_cell(error.message, error)},
        "locations": [_location(error.path, *where)],
    }


def _location(path: str, line: int, column: int = 0, end_line: int = 0, end_column: int = 0) -> dict[str, Any]:
    numbers = {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
    region = {key: value for key, value in numbers.items() if value}
    uri = Path(path).as_uri() if Path(path).is_absolute() else quote(path)
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, **({"region": region} if region else {})}}
