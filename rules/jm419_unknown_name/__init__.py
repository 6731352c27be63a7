"""JM419: a name that the newest JAX lacks."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.old_names import unknown_findings

CODE = "JM419"


def check(facts: Facts) -> Iterator[Finding]:
    """Imports and attributes of JAX's modules that the newest release does not have."""
    return unknown_findings(facts, CODE)
