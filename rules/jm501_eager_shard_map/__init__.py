"""JM501: a shard_map is called without jit, again and again."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.eager import eager_calls
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.jitted import compiled
from jaxmigrate.flow.mapped_calls import may_come_from, shard_mapped
from jaxmigrate.program.values import Application

CODE = "JM501"
FIX = (
    "`jax.jit` is put around the shard_map, where it is made once and its body only computes; compiled code may round "
    "in other places, in the last bits"
)


def check(facts: Facts) -> Iterator[Finding]:
    """Calls of a shard_map outside every jit, some of which run again or are timed; tests may run op by op."""
    for module in facts.modules:
        if "shard_map" not in module.text or module.is_test:
            continue
        found: list[tuple[ast.Call, Application]] = []
        again: set[ast.AST] = set()
        for call, repeated in eager_calls(module, facts.resolver).items():
            if not may_come_from(call.func, module, facts.resolver.project, "shard_map"):
                continue
            made = shard_mapped(facts.resolver.value(call.func, module), facts.resolver)
            if made is None or made[1]:
                continue
            found.append((call, made[0]))
            again |= {made[0].node} if repeated else set()
        for call, mapped in found:
            if mapped.node in again:  # of one that runs once, by itself, jit would only be another way to see it
                message = "shard_map runs op by op here, hundreds of times slower; put jax.jit around it"
                yield from facts.finding(module, call, CODE, message, fix=compiled(mapped, facts.resolver))
