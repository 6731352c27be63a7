"""JM116: blocks that go round a ring once too often or too little, or are taken for another device's."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.rings import told

CODE = "JM116"


def check(facts: Facts) -> Iterator[Finding]:
    """Loops with ppermute round all devices in which a block is used twice, never, or for that of another device."""
    for one in told(facts.modules, facts.resolver):
        yield from facts.finding(one.module, one.node, CODE, one.message)
