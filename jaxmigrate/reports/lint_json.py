"""Findings for a program."""

from __future__ import annotations

import json
from typing import Any

from jaxmigrate.reports.lint_result import LintResult


def write(result: LintResult, statistics: bool = False) -> str:
    """One JSON object: `version`, number of `files`, `findings`, `errors`, `warnings`; `statistics` if asked for.

    A shard says which it is, in `shard`, and the `names` of its files.
    """
    document: dict[str, Any] = {
        "version": 1,
        **({"shard": result.shard, "names": sorted(result.files)} if result.shard else {}),
        "files": len(result.files),
        "findings": [finding.to_json() for finding in result.findings],
        "errors": [error.to_json() for error in result.errors],
        "warnings": [warning.to_json() for warning in result.warnings],
    }
    if statistics:
        document["statistics"] = dict(result.statistics())
    return json.dumps(document, indent=2) + "\n"
