"""JM102: a PartitionSpec names an axis that its mesh does not have."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import shown
from jaxmigrate.flow.axis_values import mesh_axes
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.guards import is_within_raises
from jaxmigrate.flow.near import near_miss
from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.flow.specs import spec_calls
from jaxmigrate.program.collectives import SHARD_MAPS, argument
from jaxmigrate.program.resolve import call_arguments
from jaxmigrate.program.values import Argument, External

CODE = "JM102"


def check(facts: Facts) -> Iterator[Finding]:
    """Specs of a shard_map or of a NamedSharding with an axis that the mesh, where it is in sight, does not have."""
    for found in facts.device_maps:
        if found.name in SHARD_MAPS and found.axes is not None:
            yield from _in_map(found, found.axes, facts)
    for module, call in facts.calls("NamedSharding"):
        named = External("jax.sharding.NamedSharding")
        if facts.resolver.value(call.func, module) != named or is_within_raises(call, module):
            continue
        arguments = call_arguments(call, module)
        mesh, spec = argument(arguments, 0, "mesh"), argument(arguments, 1, "spec")
        axes = mesh_axes(mesh, facts.resolver, {}) if mesh is not None else None
        if axes is not None and spec is not None:
            yield from _in_spec(spec, axes, "NamedSharding", facts)


def _in_map(found: DeviceMap, axes: frozenset[str], facts: Facts) -> Iterator[Finding]:
    for keyword, position in (("in_specs", 2), ("out_specs", 3)):
        given = found.keyword(keyword, position)
        if given is not None:
            yield from _in_spec(given, axes, keyword, facts)


def _in_spec(given: Argument, axes: frozenset[str], where: str, facts: Facts) -> Iterator[Finding]:
    if given.expression is None:
        return
    for module, node, named in spec_calls(given.expression, given.module, facts.resolver):
        for axis in sorted(named - axes):
            near = near_miss(axis, axes)
            hint = f"; did you mean {near!r}?" if near else f", which has {shown(axes)}"
            yield from facts.finding(module, node, CODE, f"{where}: the mesh has no axis {axis!r}{hint}")
