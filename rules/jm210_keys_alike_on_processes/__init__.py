"""JM210: every process splits the same key for its devices."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.process_keys import keys_alike

CODE = "JM210"


def check(facts: Facts) -> Iterator[Finding]:
    """Keys for the devices of one process, made of a seed into which no index of a process has gone."""
    for one in keys_alike(facts.modules, facts.resolver):
        message = (
            "each process splits the same key for its own devices, so all processes draw the same random numbers; "
            "write key = jax.random.fold_in(key, jax.process_index()) before this"
        )
        way = (Step(*one.seed, "the key comes from this seed on every process"),)
        yield from facts.finding(one.module, one.split, CODE, message, way)
