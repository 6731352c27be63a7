"""JM117: a pmap is given what has no slice for each device."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.device_axis import Axis
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.host.held import ANY
from jaxmigrate.flow.readings import DeviceMap, unmapped
from jaxmigrate.flow.unspread_batches import called_replicas, unspread
from jaxmigrate.flow.variance.run import KEY
from jaxmigrate.program.collectives import PMAPS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Argument

CODE = "JM117"
AS_LOADED = "it comes from its loader as it is"
BY_NAME = "nothing replicates it, as its name says"


def check(facts: Facts) -> Iterator[Finding]:
    """Arguments that a pmap splits over devices, and that were initialised, or taken from one device, as they are."""
    told: set[ast.expr] = set()
    for found in (*facts.all_maps, *facts.opaque_pmaps):
        if found.name not in PMAPS:
            continue
        shared = unmapped(found, facts.resolver)
        if shared is None:
            continue
        for given, module, number in facts.given_to(found):
            for part, axis in _parts(given, module, facts) if number not in shared else ():
                if part not in told and not module.is_test:
                    told.add(part)
                    yield from _finding(part, module, axis, facts, _mapping(found, number, axis, facts))
            for key, axis in _put_in(given, facts) if number not in shared and not module.is_test else ():
                if axis.node not in told:
                    told.add(axis.node)
                    text = ast.unparse(axis.node)[:40]
                    message = (
                        f"pmap takes a slice of {key} for each device, as of what is put together with it, but it has "
                        f"no axis of devices: write flax.jax_utils.replicate({text})"
                    )
                    way = (Step(module, given, "given here"),)
                    yield from facts.finding(axis.module, axis.node, CODE, message, way)
    for found_by, why, of_other in (
        (unspread, AS_LOADED, "another of this loader"),
        (called_replicas, BY_NAME, "another"),
    ):
        for one in found_by(facts):
            if one.node not in told:
                told.add(one.node)
                text = ast.unparse(one.node)[:40]
                message = f"pmap takes a slice of {text} for each device, but {why}: write {one.by}({text})"
                way = (Step(one.module, one.divided, f"{of_other} has one from here"),)
                yield from facts.finding(one.module, one.node, CODE, message, way)


def _parts(given: ast.expr, module: Module, facts: Facts) -> Iterator[tuple[ast.expr, Axis]]:
    """The parts of an argument that have no device axis."""
    for part in given.elts if isinstance(given, ast.Tuple) else [given]:
        axis = facts.device_axes.of(part, module)
        if axis is not None and not axis.stacked:
            yield part, axis


def _put_in(given: ast.expr, facts: Facts) -> Iterator[tuple[str, Axis]]:
    """The entries and fields without a device axis of what has one otherwise: `state["step"] = jnp.zeros(())`."""
    held = facts.host.seen.get(given) if isinstance(given, ast.Name | ast.Attribute) else None
    parts = (held.parts if held is not None else None) or {}
    spread = held is not None and (held.axis or held.mixed or any(one.axis for one in parts.values()))
    for key, one in parts.items() if spread else ():
        if one.axis is False and one.node is not None and one.module is not None and key != ANY:
            yield str(key), Axis(False, one.module, one.node)


def _mapping(found: DeviceMap, number: int, axis: Axis, facts: Facts) -> Argument | None:
    """The `in_axes` that map a number, while they leave other arguments whole."""
    axes = found.keyword("in_axes", 2)
    content = facts.resolver.literal(axes) if axes is not None else None
    listed = isinstance(content, tuple) and 0 <= number < len(content) and content[number] is not None
    of_number = isinstance(axis.node, ast.Constant)
    return axes if of_number and listed and axes is not None and axes.expression is not None else None


def _finding(part: ast.expr, module: Module, axis: Axis, facts: Facts, mapping: Argument | None) -> Iterator[Finding]:
    text = ast.unparse(part)[:40]
    way = f"flax.jax_utils.replicate({text}), or None for it in in_axes"
    if KEY.search(text):
        way = f"jax.random.split({text}, jax.local_device_count())"
    if isinstance(axis.node, ast.Constant):
        way = "None for it in in_axes, or its position in static_broadcasted_argnums"
    message = f"pmap takes a slice of {text} for each device, but it has no axis of devices: write {way}"
    if isinstance(axis.node, ast.Call) and last_name(axis.node.func) == "device_put":
        message = (
            f"pmap refuses {text}, which lies whole on each device under P(): leave the map out, or give the map "
            f"what flax.jax_utils.replicate makes in its place"
        )
    if mapping is not None and mapping.expression is not None:
        given = Step(module, part, "given here")
        yield from facts.finding(mapping.module, mapping.expression, CODE, message, (given,))
        return
    yield from facts.finding(module, part, CODE, message, (Step(axis.module, axis.node, "made here"),))
