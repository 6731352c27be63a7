"""JM211: of several values that leave a mapped function together, one is not reduced as the others are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from jaxmigrate.rules.jm101_unbound_axis import is_unbound
from jaxmigrate.rules.jm208_one_devices_metric import METRIC, NO_METRIC, is_stacked

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step, shown
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.families import odd_ones
from jaxmigrate.flow.readings import DeviceMap, is_unchecked, unreduced_outputs
from jaxmigrate.flow.siblings import Leaf, leaves
from jaxmigrate.flow.twins import unlike_twins
from jaxmigrate.flow.variance import AbstractValue, Level, Reading, Reduction
from jaxmigrate.flow.variance.lattice import BESIDE, DATA, UNREDUCED
from jaxmigrate.program.collectives import SHARD_MAPS, VMAP
from jaxmigrate.program.modules import Module

CODE = "JM211"
GIVES_WAY = True  # what others say of the same reduction needs no sibling
OWN = frozenset({DATA, UNREDUCED})
TOGETHER = frozenset({BESIDE})  # with the loss; what is computed elsewhere, the host may average with all it logs
SIBLINGS = 2  # reduced metrics beside the one that is not


def check(facts: Facts) -> Iterator[Finding]:
    """Metrics, and gradients, beside others that are reduced."""
    unbound = facts.unbound_in(lambda use: is_unbound(use, facts))
    told: set[ast.expr] = set()
    for ways in facts.readings_along:
        for found, reading in ways:
            if found.name == VMAP or not found.axes or found.application.node in unbound:
                continue
            gradients = [*_gradients(found, reading, ways)]
            for finding in gradients or _metrics(found, reading, ways, facts):
                place = finding[1]
                if place not in told:
                    told.add(place)
                    yield from facts.finding(*finding[:2], CODE, finding[2], finding[3])
    yield from _of_twins(facts)
    yield from _of_families(facts)


def _of_twins(facts: Facts) -> Iterator[Finding]:
    for twin, summed in unlike_twins(facts.modules, facts.resolver):
        text = ast.unparse(twin.node)[:40]
        if summed:
            message = (
                f"psum over {twin.axis} of what is computed as the operand of the pmean beside it is: too large by the "
                "number of devices for a mean; write pmean"
            )
        else:
            message = (
                f"{text} is reduced over {twin.axis} in the other branch before this call, and here it is not; write "
                f"{text} = {ast.unparse(twin.other)[:60]}"
            )
        way = (Step(twin.module, twin.other, "reduced here"),)
        yield from facts.finding(twin.module, twin.node, CODE, message, way)


def _of_families(facts: Facts) -> Iterator[Finding]:
    for odd in odd_ones(facts):
        way = (Step(odd.module, odd.other, "reduced here"),) if odd.other is not odd.node else ()
        yield from facts.finding(odd.module, odd.node, CODE, odd.message, way)


def _gradients(
    found: DeviceMap, reading: Reading, ways: Sequence[tuple[DeviceMap, Reading]]
) -> Iterator[tuple[Module, ast.expr, str, tuple[Step, ...]]]:
    """Gradients that are reduced over another axis than their loss."""
    averaged = [r for r in reading.reductions if BESIDE in r.operand.marks and not r.operand.gradient]
    if not averaged or any(r.operand.gradient for r in reading.reductions):
        return
    own = [leaf for leaf in leaves(reading.returned, found.function) if _is_gradient(leaf.value)]
    for one, other in ways if own else ():
        beside = [r for r in other.reductions if BESIDE in r.operand.marks]
        same = {leaf.path: leaf.value for leaf in leaves(other.returned, found.function)}
        reduced = all(leaf.path in same and same[leaf.path].reduced for leaf in own)
        trees = [r for r in other.reductions if r.operand.kind == "tree" and r.module is averaged[0].module]
        if one is not found and not beside and reduced and trees:
            over = shown(one.axes or frozenset())
            message = (
                f"the gradients are reduced over {over}, and their loss over {shown(found.axes)}: each device "
                f"along {shown(found.axes)} keeps its own gradients; reduce both over the axis that splits the batch"
            )
            yield trees[-1].module, trees[-1].node, message, ()
            return


def _is_gradient(value: AbstractValue) -> bool:
    return value.level != Level.NO and value.gradient and UNREDUCED in value.marks and not value.reduced


def _metrics(
    found: DeviceMap, reading: Reading, ways: Sequence[tuple[DeviceMap, Reading]], facts: Facts
) -> Iterator[tuple[Module, ast.expr, str, tuple[Step, ...]]]:
    each = [leaf for leaf in leaves(reading.returned, found.function) if _is_metric(leaf)]
    certain = TOGETHER if len(ways) == 1 else OWN
    suspects = [leaf for leaf in each if _is_unreduced(leaf, certain)]
    others = [leaf for leaf in each if leaf.value.level == Level.NO and leaf.value.reduced]
    if not suspects or not others or not any(_is_of_metrics(one) for one in reading.reductions):
        return
    along = [{leaf.path: leaf for leaf in leaves(r.returned, found.function)} for one, r in ways if one is not found]
    suspects = [leaf for leaf in suspects if len(others) >= SIBLINGS or _is_reduced_along(leaf, along)]
    if found.name in SHARD_MAPS and not is_stacked(found):
        held = {id(leaf.value) for leaf in suspects}
        wrong = unreduced_outputs(
            found, reading, facts.resolver, lambda value: id(value) in held or _holds(value, held)
        )
        if not any(True for _ in wrong) or not is_unchecked(found, facts.resolver):
            return
    elif any(_is_averaged_later(leaf, found, facts) for leaf in suspects):
        return
    if not suspects:
        return
    names = ", ".join(dict.fromkeys(leaf.name for leaf in suspects))
    axis = shown(found.axes)
    verb = "are" if "," in names else "is"
    message = (
        f"{names} {verb} not reduced over {axis}, as {others[-1].name} beside it is: each device returns its own; "
        f"write jax.lax.pmean({suspects[0].name}, {axis})"
    )
    apart = len(others) < SIBLINGS
    module, place = _place(found, [r for _, r in ways] if apart else [reading])
    yield module, place, message, ()


def _is_of_metrics(reduction: Reduction) -> bool:
    """Whether what is reduced comes with a loss, or is made of data, and is no gradient: norms of these need none."""
    operand = reduction.operand
    return not operand.gradient and not operand.marks.isdisjoint(TOGETHER | OWN - {UNREDUCED})


def _holds(value: object, held: set[int]) -> bool:
    fields = getattr(value, "fields", None) or {}
    parts = getattr(value, "parts", None) or ()
    return any(id(one) in held or _holds(one, held) for one in (*fields.values(), *parts))


def _is_metric(leaf: Leaf) -> bool:
    name = leaf.name.lower()
    return bool(METRIC.search(name)) and not NO_METRIC.search(name)


def _is_unreduced(leaf: Leaf, certain: frozenset[str]) -> bool:
    value = leaf.value
    if value.level == Level.NO or value.host or value.reduced:
        return False
    return not value.marks.isdisjoint(certain)


def _is_reduced_along(leaf: Leaf, along: Sequence[dict[tuple[int | str, ...], Leaf]]) -> bool:
    """Whether the same value is reduced over another axis of the map."""
    same = [known[leaf.path].value for known in along if leaf.path in known]
    return any(one.level == Level.NO and one.reduced for one in same)


def _is_averaged_later(leaf: Leaf, found: DeviceMap, facts: Facts) -> bool:
    """Whether the host takes a mean, or all of what devices gave, of something by that name."""
    name = re.escape(leaf.name)
    used = re.compile(
        rf"(mean|sum|average|concatenate|stack|reshape|asarray|array|device_get)\([^\n]*\b{name}\b"
        rf"|\b{name}\b[^\n]{{0,20}}\.(mean|sum|reshape|flatten)\("
    )
    modules = {module: None for _, module in facts.calls_of(found)}
    own = found.function.module
    lines = range(found.function.node.lineno, (found.function.node.end_lineno or 0) + 1)
    for module in modules:
        text = "\n".join(line for n, line in enumerate(module.lines, 1) if module is not own or n not in lines)
        if used.search(text):
            return True
    return False


def _place(found: DeviceMap, readings: Sequence[Reading]) -> tuple[Module, ast.expr]:
    """The last reduction of a sibling, in the mapped function if there is one."""
    node, home = found.function.node, found.function.module
    reductions = [one for reading in readings for one in reading.reductions]
    own = [r for r in reductions if r.module is home and node.lineno <= r.node.lineno <= (node.end_lineno or 0)]
    each = [r for r in own or reductions if not r.operand.gradient] or own or reductions
    last = max(each, key=lambda r: r.node.lineno)
    return last.module, last.node
