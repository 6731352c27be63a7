"""JM414: old way to set a mesh."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.old_names import context_findings, old_name_findings

CODE = "JM414"


def check(facts: Facts) -> Iterator[Finding]:
    """Uses of the names that the table gives to this rule."""
    yield from old_name_findings(facts, CODE)
    yield from context_findings(facts)
