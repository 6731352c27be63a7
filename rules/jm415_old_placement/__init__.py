"""JM415: old way to place arrays on devices."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.old_names import old_name_findings

CODE = "JM415"


def check(facts: Facts) -> Iterator[Finding]:
    """Uses of the names that the table gives to this rule."""
    return old_name_findings(facts, CODE)
