"""JM201: a value is used as replicated, or as the gradient of all devices, without a reduction."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import shown
from jaxmigrate.flow.facts import Facts, Place
from jaxmigrate.flow.readings import DeviceMap, is_unchecked, unreduced_outputs
from jaxmigrate.flow.variance import Reading
from jaxmigrate.program.collectives import VMAP

CODE = "JM201"


def check(facts: Facts) -> Iterator[Finding]:
    """Outputs declared replicated that certainly vary, and updates by gradients that nothing has reduced."""

    def find(found: DeviceMap, reading: Reading) -> Iterator[Place]:
        for module, node, which in unreduced_outputs(found, reading, facts.resolver):
            axes = shown(found.axes)
            message = f"{which} varies over {axes} but is declared replicated; device 0's value is returned"
            yield Place(module, node, message)
        yield from _updates(found, reading, facts)

    return facts.in_maps(CODE, find)


def _updates(found: DeviceMap, reading: Reading, facts: Facts) -> Iterator[Place]:
    """Only where the map has an axis name: a population or an ensemble has no use for one."""
    if not found.axes or not is_unchecked(found, facts.resolver) or not reading.returned.updated:
        return
    for module, node in reading.updates[:1]:
        whose = "rows" if found.name == VMAP else "devices"
        axis = shown(found.axes)
        message = f"gradients are applied without a reduction over {axis}; the {whose}' parameters drift apart"
        yield Place(module, node, message)
