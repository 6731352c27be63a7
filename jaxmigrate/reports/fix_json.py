"""What `fix` did, for a program. `sites` is what scripts read; `verification` is there where one was asked for."""

from __future__ import annotations

import json

from jaxmigrate.reports.fix_result import FixResult
from jaxmigrate.reports.limits import limits
from jaxmigrate.verify.model import to_json


def write(result: FixResult) -> str:
    """One JSON object: `summary`, `sites`, `names`, `files`, `assumptions`, `callers`, `not_covered` and so on."""
    document = {
        "version": 1,
        "summary": {
            "sites": len(result.sites),
            "rewritten": len(result.rewritten),
            "left": len(result.left),
            "kept": len(result.sites) - len(result.rewritten) - len(result.left),
            "files_changed": len(result.changed),
            "grade": result.grade,
        },
        "sites": [site.to_json() for site in result.sites],
        "names": [name.to_json() for name in result.names],
        "files": [{"path": file.path, "outcome": file.outcome, "diff": file.diff_text} for file in result.files],
        "assumptions": [one.to_json() for one in result.assumed],
        **({"caution": result.caution} if result.caution else {}),
        "callers": list(result.callers),
        "errors": [error.to_json() for error in result.errors],
        "notebooks": list(result.notebooks),
        "not_covered": [] if result.evidence is None else list(limits(result.evidence)),
        "verification": None if result.evidence is None else to_json(result.evidence),
    }
    return json.dumps(document, indent=2) + "\n"
