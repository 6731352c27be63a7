"""JM501: a shard_map is called without jit."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.eager import eager_calls
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.jitted import compiled
from jaxmigrate.flow.mapped_calls import may_come_from, shard_mapped

CODE = "JM501"
FIX = (
    "`jax.jit` is put around the shard_map, where it is made once and its body only computes; compiled code may round "
    "in other places, in the last bits"
)


def check(facts: Facts) -> Iterator[Finding]:
    """Calls of what a shard_map made, by code that certainly runs outside every jit; tests may run op by op."""
    for module in facts.modules:
        if "shard_map" not in module.text or module.is_test:
            continue
        for call in eager_calls(module, facts.resolver):
            if not may_come_from(call.func, module, facts.resolver.project, "shard_map"):
                continue
            found = shard_mapped(facts.resolver.value(call.func, module), facts.resolver)
            if found is None or found[1]:
                continue
            message = "shard_map runs op by op here, hundreds of times slower; put jax.jit around it"
            yield from facts.finding(module, call, CODE, message, fix=compiled(found[0], facts.resolver))
