"""JM506: an array is used after it was donated."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.donations import reuses
from jaxmigrate.flow.facts import Facts

CODE = "JM506"


def check(facts: Facts) -> Iterator[Finding]:
    """Names that are read again after a call that was allowed to reuse their arrays' memory."""
    for found in reuses(facts.modules, facts.resolver, facts.is_on_devices):
        inside = any(found.read is one for one in found.call.args)
        where = "in the loop's previous iteration" if inside else "above"
        message = (
            f"{found.name} was donated {where}, and its array is deleted; use what the call returns, or pass it "
            f"jax.tree.map(jnp.copy, {found.name})"
        )
        way = () if inside else (Step(found.module, found.call, "donated here"),)
        yield from facts.finding(found.read_in or found.module, found.read, CODE, message, way)
