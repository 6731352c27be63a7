"""JM122: the devices of one process are counted where those of all are meant, or the other way round."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.batch_sizes import mistaken_batches
from jaxmigrate.flow.count_units import mistaken_units
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.local_meshes import local_meshes
from jaxmigrate.flow.process_counts import miscounted

CODE = "JM122"


def check(facts: Facts) -> Iterator[Finding]:
    """Divisions by `local_device_count` of what is summed over all, and other counts that are right on one process."""
    told = set()
    for one in (*miscounted(facts), *mistaken_batches(facts), *mistaken_units(facts), *local_meshes(facts)):
        if one.node in told:
            continue
        told.add(one.node)
        yield from facts.finding(one.module, one.node, CODE, one.message)
