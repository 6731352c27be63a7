"""The state of a project's migration, for a program."""

from __future__ import annotations

import json

from jaxmigrate.reports.status import Status


def write(status: Status) -> str:
    """One JSON object with the attributes of `Status`, and `maps` and `headline`."""
    return json.dumps(status.to_json(), indent=2) + "\n"
