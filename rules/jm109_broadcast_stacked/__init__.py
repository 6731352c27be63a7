"""JM109: what has a leading axis for the devices is given to all of them whole."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.layout.kinds import REPLICATES, SPLITS
from jaxmigrate.flow.readings import DeviceMap, broadcast
from jaxmigrate.flow.stacked_names import is_stacked, nearest
from jaxmigrate.program.collectives import PMAPS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.values import External

CODE = "JM109"
COUNTS = frozenset({"jax.device_count", "jax.local_device_count"})
SPLIT = "jax.random.split"
SPREADING = REPLICATES | SPLITS


def check(facts: Facts) -> Iterator[Finding]:
    """Arguments under `None` in a pmap's in_axes that every call in sight passes with a slice for each device."""
    found = [(one, broadcast(one, facts.resolver)) for one in facts.all_maps if one.name in PMAPS]
    wanted = [(one, positions) for one, positions in found if positions and not _takes_its_own(one)]
    if not wanted:
        return
    stepped = {call for one in facts.all_maps if one.name in PMAPS for call, _ in facts.calls_of(one)}
    for one, positions in wanted:
        axes = one.keyword("in_axes", 2)
        for position in sorted(positions):
            given = [*_given(one, position, facts)]
            stacked = [(held, module) for held, module in given if _has_slices(held, module, stepped, facts)]
            if stacked and len(stacked) == len(given) and axes is not None and axes.expression is not None:
                held, module = stacked[0]
                text = ast.unparse(held)[:40]
                message = (
                    f"in_axes has None for {text}, which has a slice for each device: each gets all of them, "
                    "with one dimension too many; write 0"
                )
                way = (Step(module, held, "given here"),)
                yield from facts.finding(axes.module, axes.expression, CODE, message, way)


def _takes_its_own(found: DeviceMap) -> bool:
    """Whether a mapped function may take its device's slice by itself."""
    return "axis_index" in ast.unparse(found.function.node)


def _given(found: DeviceMap, position: int, facts: Facts) -> Iterator[tuple[ast.expr, Module]]:
    """What the calls of a map pass at a position."""
    yield from ((node, module) for node, module, number in facts.given_to(found) if number == position)


def _has_slices(node: ast.expr, module: Module, stepped: set[ast.Call], facts: Facts) -> bool:
    axis = facts.device_axes.of(node, module)
    if axis is not None:
        return axis.stacked
    match node:
        case ast.Call():
            callee = facts.resolver.value(node.func, module)
            return isinstance(callee, External) and callee.name in SPREADING
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            stored = [one.value for one in module.table.attributes if one.attr == name]
            each = [_is_made_stacked(one, module, stepped, facts) for one in stored]
            return bool(each) and all(each) and not _is_unpacked(name, module)
        case ast.Name():
            binding = nearest(node, module)
            if binding is not None:
                alone = facts.device_axes.stepped.get(binding.value, ()) if isinstance(binding.value, ast.Call) else ()
                if binding.path and binding.path[0] in alone:
                    return False  # out_axes has None for it
                return is_stacked(binding, module, stepped, facts) or _is_split(binding.value, module, facts)
    return False


def _is_made_stacked(value: ast.expr, module: Module, stepped: set[ast.Call], facts: Facts) -> bool:
    """Whether what an attribute is assigned has a slice for each device."""
    if value in stepped:
        return True
    axis = facts.device_axes.of(value, module)
    if axis is not None:
        return axis.stacked
    callee = facts.resolver.value(value.func, module) if isinstance(value, ast.Call) else None
    return isinstance(callee, External) and callee.name in SPREADING


def _is_unpacked(name: str, module: Module) -> bool:
    """Whether an attribute is also assigned a part of something."""
    stored = (
        node
        for node in module.nodes
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store)
    )
    return any(isinstance(module.table.parents.get(one), ast.Tuple | ast.List) for one in stored)


def _is_split(value: ast.expr | None, module: Module, facts: Facts) -> bool:
    """Whether an assignment splits a key for each device."""
    if not isinstance(value, ast.Call) or facts.resolver.value(value.func, module) != External(SPLIT):
        return False
    numbers = [*value.args[1:], *(keyword.value for keyword in value.keywords if keyword.arg == "num")]
    counts = [facts.resolver.value(one.func, module) for one in numbers if isinstance(one, ast.Call)]
    return any(isinstance(count, External) and count.name in COUNTS for count in counts)
