"""JM109: what has a leading axis for the devices is given to all of them whole."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.readings import DeviceMap, broadcast
from jaxmigrate.flow.stacked_names import base, is_stacked, nearest
from jaxmigrate.program.collectives import PMAPS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.values import External

CODE = "JM109"
COUNTS = frozenset({"jax.device_count", "jax.local_device_count"})
SPLIT = "jax.random.split"


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
                message = (
                    f"in_axes has None for {held.id}, which has a slice for each device: each gets all of them, "
                    "with one dimension too many; write 0"
                )
                way = (Step(module, held, "given here"),)
                yield from facts.finding(axes.module, axes.expression, CODE, message, way)


def _takes_its_own(found: DeviceMap) -> bool:
    """Whether a mapped function may take its device's slice by itself."""
    return "axis_index" in ast.unparse(found.function.node)


def _given(found: DeviceMap, position: int, facts: Facts) -> Iterator[tuple[ast.Name, Module]]:
    """What the calls of a map pass at a position; nothing where one passes no plain name."""
    calls = [(call, module) for call, module in facts.calls_of(found) if position < len(call.args)]
    names = [(base(call.args[position]), module) for call, module in calls]
    if all(name is not None and name is call.args[position] for (name, _), (call, _) in zip(names, calls, strict=True)):
        yield from ((name, module) for name, module in names if name is not None)


def _has_slices(name: ast.Name, module: Module, stepped: set[ast.Call], facts: Facts) -> bool:
    axis = facts.device_axes.of(name, module)
    if axis is not None:
        return axis.stacked
    binding = nearest(name, module)
    if binding is None:
        return False
    return is_stacked(binding, module, stepped, facts) or _is_split(binding.value, module, facts)


def _is_split(value: ast.expr | None, module: Module, facts: Facts) -> bool:
    """Whether an assignment splits a key for each device."""
    if not isinstance(value, ast.Call) or facts.resolver.value(value.func, module) != External(SPLIT):
        return False
    numbers = [*value.args[1:], *(keyword.value for keyword in value.keywords if keyword.arg == "num")]
    counts = [facts.resolver.value(one.func, module) for one in numbers if isinstance(one, ast.Call)]
    return any(isinstance(count, External) and count.name in COUNTS for count in counts)
