"""JM203: psum of the gradient of a loss that is reduced itself."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import AXES, Facts, Place
from jaxmigrate.flow.readings import DeviceMap, is_unchecked
from jaxmigrate.flow.variance import Reading

CODE = "JM203"


def check(facts: Facts) -> Iterator[Finding]:
    """Sums over devices of gradients whose loss was already summed or averaged over them."""

    def find(found: DeviceMap, reading: Reading) -> Iterator[Place]:
        for reduction in reading.reductions:
            if reduction.name == "jax.lax.psum" and reduction.operand.inner and is_unchecked(found, facts.resolver):
                message = (
                    f"the loss is already reduced over {AXES}, so psum of its gradient is too large by the number of "
                    "devices; pmean gives the gradient of that loss"
                )
                yield Place(reduction.module, reduction.node, message)

    return facts.along_axes(CODE, find, unmapped=True)
