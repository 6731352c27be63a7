"""JM121: positions of static arguments that do not fit the parameters of a mapped function."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.static_positions import shifted

CODE = "JM121"


def check(facts: Facts) -> Iterator[Finding]:
    """Static arguments of pmaps that are arrays, and others that are none."""
    for one in shifted(facts):
        yield from facts.finding(one.module, one.node, CODE, one.message)
