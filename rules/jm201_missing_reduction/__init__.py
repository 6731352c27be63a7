"""JM201: a value is used as replicated, or as the gradient of all devices, without a reduction."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.rules.jm101_unbound_axis import is_unbound

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import AXES, Facts, Place
from jaxmigrate.flow.readings import DeviceMap, is_checked, is_unchecked, unreduced_outputs
from jaxmigrate.flow.variance import AbstractValue, Level, Reading
from jaxmigrate.flow.variance.lattice import GATHERED, mapped
from jaxmigrate.flow.variance.lattice import replace as replace_var
from jaxmigrate.program.collectives import VMAP
from jaxmigrate.records import replace

CODE = "JM201"


def check(facts: Facts) -> Iterator[Finding]:
    """Outputs declared replicated that certainly vary, and updates by gradients that nothing has reduced."""
    unbound = facts.unbound_in(lambda use: is_unbound(use, facts))

    def find(found: DeviceMap, reading: Reading) -> Iterator[Place]:
        if found.application.node in unbound or found.within in unbound:
            return  # which is told, and is the cause
        updates = [*_updates(found, reading, facts)]
        yield from updates
        if updates:  # what they change differs for that cause
            reading = replace(reading, returned=mapped(reading.returned, _unless_updated))
        for module, node, which in unreduced_outputs(found, reading, facts.resolver):
            what = "device 0's value is returned" if is_unchecked(found, facts.resolver) else "JAX refuses it"
            message = f"{which} varies over {AXES} but is declared replicated; {what}"
            yield Place(module, node, message)

        if is_checked(found, facts.resolver):
            for module, node, which in unreduced_outputs(found, reading, facts.resolver, _is_gathered):
                message = (
                    f"{which} is made of an all_gather over {AXES} and declared replicated, which JAX refuses: it "
                    "takes what is gathered for each device's own; write psum, or check_vma=False"
                )
                yield Place(module, node, message)

    return facts.along_axes(CODE, find)


def _is_gathered(value: AbstractValue) -> bool:
    return value.level == Level.NO and GATHERED in value.marks


def _unless_updated(value: AbstractValue) -> AbstractValue:
    return replace_var(value, level=Level.MAY) if value.updated else value


def _updates(found: DeviceMap, reading: Reading, facts: Facts) -> Iterator[Place]:
    """Only where the map has an axis name: a population or an ensemble has no use for one."""
    if not found.axes or not is_unchecked(found, facts.resolver) or not (reading.returned.updated or reading.changed):
        return
    for module, node in reading.updates[:1]:
        whose = "rows" if found.name == VMAP else "devices"
        message = f"gradients are applied without a reduction over {AXES}; the {whose}' parameters drift apart"
        yield Place(module, node, message)
