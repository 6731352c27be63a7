"""A verification for a program to read. `schema_version` changes whenever a field changes its meaning."""

from __future__ import annotations

import json
from typing import Any

from jaxmigrate import __version__
from jaxmigrate.migrate.plan import ArrayLayout
from jaxmigrate.reports.limits import limits
from jaxmigrate.reports.report import Report, as_report
from jaxmigrate.verify.model import SCHEMA_VERSION, Evidence, SiteEvidence, to_json


def write(told: Report | Evidence) -> str:
    """One JSON object: `verdict`, `ok`, `sites` with what was planned and found, `files` and `verification`."""
    report = as_report(told)
    document = {
        "tool": "jaxmigrate",
        "tool_version": __version__,
        "schema_version": SCHEMA_VERSION,
        "command": report.title,
        "verdict": report.evidence.verdict.value if report.evidence is not None else None,
        "ok": report.good,
        "sites": _sites(report),
        "files": [{"path": file.path, "outcome": file.outcome, "diff": file.diff_text} for file in report.files],
        "errors": list(report.errors),
        "notebooks": list(report.notebooks),
        "not_covered": list(limits(report.evidence)) if report.evidence is not None else [],
        "verification": to_json(report.evidence),
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _sites(report: Report) -> list[dict[str, Any]]:
    return [
        {
            "id": row.id,
            "path": row.path,
            **({"cell": row.cell} if row.cell else {}),
            "line": row.line,
            "axis": row.axis or None,
            "mapped": row.name,
            "status": row.status,
            **({"code": row.code, "reason": row.reason} if row.status == "left" else {}),
            "arguments": [_array(array) for array in row.arguments],
            "outputs": [_array(array) for array in row.outputs],
            "verdict": row.evidence.verdict.value if row.evidence is not None else None,
            "in_the_runs": _in_the_runs(row.evidence),
        }
        for row in report.rows
    ]


def _array(array: ArrayLayout) -> dict[str, str]:
    grade = {"grade": array.grade} if array.grade else {}
    return {"name": array.name, "layout": array.layout, **grade}


def _in_the_runs(found: SiteEvidence | None) -> dict[str, Any] | None:
    """The layouts of arguments and results as the arrays of the runs had them."""
    if found is None or not found.calls:
        return None
    both = {"arguments": found.arguments, "outputs": found.results}
    return {
        what: [{"name": array.name, "layout": array.layout, "leaves": array.leaves} for array in arrays]
        for what, arrays in both.items()
    }
