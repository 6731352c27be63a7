"""JM210: every process splits the same key for its devices."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.process_keys import first_of_processes, keys_alike

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
    for module, node in first_of_processes(facts.modules, facts.resolver):
        message = (
            "all processes take the same of these keys, which are one for each: they draw the same random numbers; "
            "write [jax.process_index()]"
        )
        yield from facts.finding(module, node, CODE, message)
