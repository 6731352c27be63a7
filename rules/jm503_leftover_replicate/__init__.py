"""JM503: an array with a row for each device is given where a shard_map takes one for all."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.layout.kinds import REPLICATES
from jaxmigrate.flow.mapped_calls import shard_calls
from jaxmigrate.flow.specs import spec_axes
from jaxmigrate.program.library import last_names
from jaxmigrate.program.values import Application, External, Value

CODE = "JM503"
LAST_NAMES = last_names("replicates")


def check(facts: Facts) -> Iterator[Finding]:
    """Results of `replicate` that reach an argument whose spec is `P()`."""
    modules = [module for module in facts.modules if any(name in module.text for name in LAST_NAMES)]
    for found in shard_calls(modules, facts.resolver):
        for given, spec in found.specs():
            if spec.expression is None or spec_axes(spec.expression, spec.module, facts.resolver) != frozenset():
                continue
            if any(_is_replicated(value) for value in facts.resolver.values(given, found.module)):
                message = (
                    "this array holds a copy for each device, and P() gives all copies to every device: sums count each"
                )
                yield from facts.finding(found.module, given, CODE, message)


def _is_replicated(value: Value) -> bool:
    return isinstance(value, Application) and isinstance(value.callee, External) and value.callee.name in REPLICATES
