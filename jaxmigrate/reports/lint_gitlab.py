"""Findings as GitLab's Code Quality report, which it shows in merge requests."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import Any

from jaxmigrate.findings import Finding
from jaxmigrate.reports.in_cells import in_cell
from jaxmigrate.reports.lint_result import LintResult
from jaxmigrate.sources import SourceError

TOOL = "jaxmigrate"  # what tells of files that could not be read, and of comments that silence nothing
ERROR, WARNING = "critical", "info"


def write(result: LintResult) -> str:
    """One JSON array with an issue for each finding, then for each error and each warning."""
    told: list[tuple[Finding | SourceError, str, str]] = [
        *((finding, finding.code, "major") for finding in result.findings),
        *((error, TOOL, ERROR) for error in result.errors),
        *((warning, TOOL, WARNING) for warning in result.warnings),
    ]
    seen = Counter[tuple[str, str, str]]()
    issues: list[dict[str, Any]] = []
    for one, name, severity in told:
        what = (one.path, name, one.message)
        seen[what] += 1
        issues.append(_issue(one, name, severity, seen[what]))
    return json.dumps(issues, indent=2) + "\n"


def _issue(one: Finding | SourceError, name: str, severity: str, number: int) -> dict[str, Any]:
    """An issue; its fingerprint stays when lines move, and `number` tells those apart that say the same of one file."""
    what = "\0".join((one.path, name, one.message, str(number)))
    line = one.file_line if one.cell else one.line
    return {
        "description": in_cell(one.message, one),
        "check_name": name,
        "fingerprint": hashlib.sha256(what.encode(errors="surrogatepass")).hexdigest(),
        "severity": severity,
        "location": {"path": one.path, "lines": {"begin": max(line, 1)}},
    }
