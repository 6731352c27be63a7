"""JM414: mesh in context by an old way."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.old_names import old_name_findings

CODE = "JM414"


def check(facts: Facts) -> Iterator[Finding]:
    """Uses of the names that the table gives to this rule."""
    return old_name_findings(facts, CODE)
