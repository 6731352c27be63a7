"""JM201: a value is used as replicated, or as the gradient of all devices, without a reduction."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.rules.jm101_unbound_axis import is_unbound

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import shown
from jaxmigrate.flow.axis_symbols import has_symbols
from jaxmigrate.flow.expected import is_expected_to_raise
from jaxmigrate.flow.facts import AXES, AXES_ARGUMENT, Facts, Place
from jaxmigrate.flow.own_models import trains_own_models
from jaxmigrate.flow.readings import DeviceMap, arguments, is_checked, is_unchecked, unreduced_outputs
from jaxmigrate.flow.specs import varies
from jaxmigrate.flow.variance import AbstractValue, Level, Reading
from jaxmigrate.flow.variance.lattice import DATA, GATHERED, MEAN, UNREDUCED, mapped
from jaxmigrate.flow.variance.lattice import replace as replace_var
from jaxmigrate.program.collectives import PMAPS, SHARD_MAPS, VMAP
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import positional_names
from jaxmigrate.program.values import Application
from jaxmigrate.records import replace

CODE = "JM201"


def check(facts: Facts) -> Iterator[Finding]:
    """Outputs declared replicated that certainly vary, and updates by gradients that nothing has reduced."""
    unbound = facts.unbound_in(lambda use: is_unbound(use, facts))

    def find(found: DeviceMap, reading: Reading) -> Iterator[Place]:
        if found.application.node in unbound or found.within in unbound:
            return  # which is told, and is the cause
        updates = [*_cut(found, reading, facts)] or [*_updates(found, reading, facts)]
        yield from updates
        if updates:  # what they change differs for that cause
            reading = replace(reading, returned=mapped(reading.returned, _unless_updated))
        unchecked = is_unchecked(found, facts.resolver)  # else JAX sums gradients of what is equal everywhere
        wrong = _differs if unchecked else varies
        for module, node, which in unreduced_outputs(found, reading, facts.resolver, wrong):
            if not unchecked and is_expected_to_raise(node, module):
                continue
            what = "device 0's value is returned" if unchecked else "JAX refuses it"
            message = f"{which} varies over {AXES} but is declared replicated; {what}"
            yield Place(module, node, message)

        if is_checked(found, facts.resolver):
            for module, node, which in unreduced_outputs(found, reading, facts.resolver, _is_gathered):
                message = (
                    f"{which} is made of an all_gather over {AXES} and declared replicated, which JAX refuses: it "
                    "takes what is gathered for each device's own; write psum, or check_vma=False"
                )
                yield Place(module, node, message)

    yield from facts.along_axes(CODE, find, unmapped=True)
    yield from _never_reduced(facts, unbound)
    yield from _without_axis(facts, unbound)


def _without_axis(facts: Facts, unbound: frozenset[ast.AST]) -> Iterator[Finding]:
    """Updates in a pmap without an axis name, of what starts equal everywhere and of which one device's is kept."""
    for found, reading in facts.readings:
        named = found.axes or found.within is not None or found.keyword("axis_name", 1) is not None
        if named or found.application.node in unbound:
            continue
        if found.name not in PMAPS or not reading.updates or not (reading.returned.updated or reading.changed):
            continue
        reading, equal = facts.confirmed(found, reading), facts.replicated(found)
        if not reading.updates or not equal or len(equal) == len(found.parameters()) or trains_own_models(found, facts):
            continue
        kept = any(_keeps_one(*call, reading.returned, facts) for call in facts.calls_of(found))
        if found.application.module.is_test or not kept:
            continue
        for module, node in reading.updates[:1]:
            message = (
                "gradients are applied without a reduction: the pmap has no axis_name, and one device's parameters are "
                "kept; give it one, and write jax.lax.pmean over it"
            )
            yield from facts.finding(module, node, CODE, message)


def _keeps_one(call: ast.Call, module: Module, returned: AbstractValue, facts: Facts) -> bool:
    """Whether of what unreduced gradients have changed, as a call gave it back, one device's is read."""
    for one in facts.taken_of(call, module):
        value = returned
        for key in one.path:
            known = isinstance(key, int) and value.parts is not None and -len(value.parts) <= key < len(value.parts)
            value = value.parts[key] if known and isinstance(key, int) and value.parts is not None else value
        if value.updated and not (value.parts is not None and any(not part.updated for part in value.parts)):
            return True
    return False


def _never_reduced(facts: Facts, unbound: frozenset[ast.AST]) -> Iterator[Finding]:
    """Outputs declared replicated of functions that take blocks, and from which nothing leads to a reduction."""
    told: set[ast.expr] = set()
    for ways in facts.readings_along:
        for found, reading in ways:
            if found.name not in SHARD_MAPS or found.application.node in unbound or reading.reductions:
                continue
            if has_symbols(found.axes or ()) or not _takes_blocks(found, facts):
                continue
            if not is_unchecked(found, facts.resolver):
                continue
            outputs = [*unreduced_outputs(found, reading, facts.resolver, _may_vary)]
            known = {node for _, node, _ in unreduced_outputs(found, reading, facts.resolver)}
            for module, node, which in outputs:
                if node in told or node in known or facts.may_reduce(found):
                    continue
                told.add(node)
                message = (
                    f"{which} is declared replicated, and nothing in the function reduces over {shown(found.axes)}, "
                    "over which its arguments are split; device 0's value is returned"
                )
                home, place = _to_mend(node, module, found, reading, facts)
                yield from facts.finding(home, place, CODE, message)


def _to_mend(
    node: ast.expr, module: Module, found: DeviceMap, reading: Reading, facts: Facts
) -> tuple[Module, ast.expr]:
    """Where a mean leaves the function, for it should be averaged; of an array its spec, as it is written."""
    leaves = [reading.returned, *(reading.returned.fields or {}).values()]
    returns = [one for one in returned_by(found.function.node) if one is not None]
    if any(MEAN in leaf.marks for leaf in leaves) and len(returns) == 1 and found.function.module.path in facts.names:
        return found.function.module, returns[0]
    written = facts.resolver.value(node, module)
    return (module, written.node) if isinstance(written, Application) and written.module is module else (module, node)


def _may_vary(value: AbstractValue) -> bool:
    """Whether a value is made of the data of each device, or of a mean of it, for all that is in sight."""
    held = [*(value.parts or ()), *(value.fields or {}).values()]
    own = value.level != Level.NO and not value.host and not any(one.level == Level.NO for one in held)
    return own and not value.marks.isdisjoint((DATA, MEAN))


def _takes_blocks(found: DeviceMap, facts: Facts) -> bool:
    """Whether an argument of a shard_map is split over its axis."""
    given = arguments(found, facts.resolver)
    return any(one.level == Level.YES and one.parts is None and one.fields is None for one in given)


def _differs(value: AbstractValue) -> bool:
    """Whether a value certainly varies, or is a gradient of what each device has, which nothing has reduced."""
    own = value.gradient and UNREDUCED in value.marks and value.level == Level.MAY and not value.host
    return varies(value) or own


def _is_gathered(value: AbstractValue) -> bool:
    return value.level == Level.NO and GATHERED in value.marks


def _unless_updated(value: AbstractValue) -> AbstractValue:
    if not value.updated:
        return value
    return replace_var(value, level=Level.MAY, marks=value.marks - {UNREDUCED})


def _cut(found: DeviceMap, reading: Reading, facts: Facts) -> Iterator[Place]:
    """Slices that devices take of their own gradients, where these are applied if another function slices."""
    if reading.exchanged or not found.axes or not is_unchecked(found, facts.resolver):
        return
    for module, node in reading.cut[:1]:
        function = module.table.function_of(node)
        applied = [one for one in reading.updates[:1] if one[0].table.function_of(one[1]) is not function]
        message = (
            f"each device's slice of its own gradients, without those of the others over {AXES}; write "
            f"jax.lax.psum_scatter(..., {AXES_ARGUMENT}, tiled=True) instead of the slice"
        )
        if applied:
            yield Place(*applied[0], f"what is applied is {message}")
        else:
            yield Place(module, node, f"this is {message}")


def _is_of_some(node: ast.expr, module: Module, found: DeviceMap) -> bool:
    """Whether a function reduces such leaves of a tree as it tells from others, whose gradients may be so already."""
    tests: list[ast.expr] = []
    above: ast.AST | None = node
    while above is not None and not isinstance(above, ast.FunctionDef | ast.Lambda):
        tests += [above.test] if isinstance(above, ast.If | ast.IfExp) else []
        above = module.table.parents.get(above)
    if above is None or above is found.function.node or not isinstance(above, ast.FunctionDef | ast.Lambda):
        return False
    leaf = positional_names(above.args)[:1]
    return any(isinstance(one, ast.Name) and one.id in leaf for test in tests for one in ast.walk(test))


def _may_be_of_shards(found: DeviceMap, facts: Facts) -> bool:
    """Whether parameters may be in shards, of which the gradients are summed where they were gathered.

    Neither the specs are in sight nor the axes of a gather.
    """
    specs = found.keyword("in_specs", 2) if found.name in SHARD_MAPS else None
    if specs is not None and specs.expression is not None:
        known = facts.resolver.container(specs.expression, specs.module) is not None
    else:
        known = found.name not in SHARD_MAPS and all(found is not one for one, _ in facts.unmapped)
    return not known and any(facts.axis_of(call, module) is None for module, call in facts.calls("all_gather"))


def _is_given_copies(found: DeviceMap, facts: Facts) -> bool:
    """Whether all that a map is given is replicated; of a test's map, what the program gives the same function."""
    function, alike = found.function.node, [found]
    if found.application.module.is_test:
        same = [one for one in facts.all_maps if one.function.node is function and not one.application.module.is_test]
        alike = same or alike
    return all(one.name in PMAPS and len(facts.replicated(one)) == len(one.parameters()) > 0 for one in alike)


def _updates(found: DeviceMap, reading: Reading, facts: Facts) -> Iterator[Place]:
    """Only where the map has an axis name: a population or an ensemble has no use for one."""
    if not found.axes or not is_unchecked(found, facts.resolver) or not (reading.returned.updated or reading.changed):
        return
    if reading.exchanged or trains_own_models(found, facts) or _may_be_of_shards(found, facts):
        return
    if _is_given_copies(found, facts):
        return  # all devices have the same batch as well, and so the same gradients
    if any(one.operand.gradient and _is_of_some(one.node, one.module, found) for one in reading.reductions):
        return
    for module, node in reading.updates[:1]:
        whose = "rows" if found.name == VMAP else "devices"
        message = f"gradients are applied without a reduction over {AXES}; the {whose}' parameters drift apart"
        yield Place(module, node, message)
