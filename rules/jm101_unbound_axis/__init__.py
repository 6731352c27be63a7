"""JM101: a collective names an axis that nothing around it binds."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import AxisUse, Step, shown
from jaxmigrate.flow.enclosing import outermost_function
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.guards import is_expected_to_fail, is_guarded, is_tried
from jaxmigrate.flow.known_axes import is_misspelt, known_axes
from jaxmigrate.flow.misspelt import respelled
from jaxmigrate.flow.spelling import near_miss
from jaxmigrate.flow.stray_axes import called_back, lone_axes, nowhere_bound, quoted_variables
from jaxmigrate.program.modules import Module

CODE = "JM101"
FIX = "the name of the one bound axis that is a letter off, where nothing binds the name as it is written"
OF_HOST = "it is called back on the host"
OF_JIT = "jit compiles it, and binds no axis"


def check(facts: Facts) -> Iterator[Finding]:
    """Collectives that are certain to run where their axis is not bound."""
    reported: set[tuple[ast.AST, str]] = set()
    compiled = (use for use in facts.unmapped_uses if not any(is_tried(s.node, s.module) for s in use.way))
    compiled = (use for use in compiled if not _may_be_mapped(use, facts))
    for use in (*facts.axis_uses, *compiled):
        written = _written(use)
        place = use.call if written is None else written[1]
        if is_unbound(use, facts) and (place, use.axis) not in reported:
            reported |= {(place, use.axis), (use.call, use.axis)}
            yield from _at_collective(use, facts)
    told = {call for call, _ in reported}
    yield from _in_callbacks(facts, told)
    yield from _anywhere(facts, told)


def _may_be_mapped(use: AxisUse, facts: Facts) -> bool:
    """Whether a pmap of what is not in sight binds the axis, and may lead to the jit: nobody else calls what does."""
    given = (found.keyword("axis_name", 1) for found in facts.opaque_pmaps)
    if use.axis not in {facts.resolver.literal(one) for one in given if one is not None}:
        return False
    compiled = outermost_function(use.call, use.module)
    around = [outermost_function(call, module) for module, call in facts.calls(getattr(compiled, "name", ""))]
    names = [one.name for one in around if isinstance(one, ast.FunctionDef)]
    return bool(around) and len(names) == len(around) and not any(True for _ in facts.calls(*names))


def _in_callbacks(facts: Facts, told: set[ast.AST]) -> Iterator[Finding]:
    """Collectives in a function that is written for the host to call back, whatever leads to the callback."""
    for module, call, node, name in called_back(facts):
        if node not in told:
            told.add(node)
            way = (Step(module, call, "given to the host here"),)
            yield from facts.finding(module, node, CODE, f"{name}: no axis is bound here: {OF_HOST}", way)


def _anywhere(facts: Facts, told: set[ast.AST]) -> Iterator[Finding]:
    """Axes that nothing in the whole program binds, each once; names of variables in quotes first."""
    for module, node, name in quoted_variables(facts):
        told.add(module.table.parents[node])
        message = f"axis {name!r} is not bound anywhere, but {name} is a variable here; leave out the quotes"
        yield from facts.finding(module, node, CODE, message)
    strays: dict[str, list[tuple[Module, ast.Call, str]]] = defaultdict(list)
    for module, call, name, axis in nowhere_bound(facts):
        if call not in told:
            strays[axis].append((module, call, name))
    for axis, ((module, call, name), *others) in strays.items():
        names = known_axes(facts.resolver).names
        fix = None if others else respelled(call, axis, names, module, facts.resolver)
        message = f"{name}: {unbound(axis, names, 'the maps and meshes of the project bind only')}"
        told.add(call)
        way = [Step(where, again, "here, too") for where, again, _ in others]
        yield from facts.finding(module, call, CODE, message, way, fix)
    for module, call, name, axis, other in lone_axes(facts):
        if call not in told:
            message = (
                f"{name}: nothing else in the project names the axis {axis!r}; did you mean {other}, as beside it?"
            )
            fix = respelled(call, axis, known_axes(facts.resolver).names, module, facts.resolver)
            yield from facts.finding(module, call, CODE, message, fix=fix)


def is_unbound(use: AxisUse, facts: Facts) -> bool:
    """Whether the axis is certainly missing; a guard that may keep the collective from running speaks against it."""
    environment = use.environment
    if use.axis in environment.axes or is_expected_to_fail(use):
        return False
    if not environment.complete:
        foreign = use.axis not in known_axes(facts.resolver).names and is_misspelt(use.axis, facts.resolver)
        return bool(foreign) and not is_guarded(use, facts.resolver)
    if near_miss(use.axis, environment.axes):
        return True
    if environment.by_key and _is_named_elsewhere(use, facts):
        return False
    return not is_guarded(use, facts.resolver)


def _is_named_elsewhere(use: AxisUse, facts: Facts) -> bool:
    """Whether another place names the axis, too: then some map may bind it for which the function is meant."""
    texts = (module.text for module in {*facts.modules, use.module})
    return sum(text.count(f"'{use.axis}'") + text.count(f'"{use.axis}"') for text in texts) > 1


def unbound(axis: str, axes: Collection[str], who: str) -> str:
    """The sentence that says so, with what the name may have been meant for."""
    near = near_miss(axis, axes)
    hint = f"; did you mean {near!r}?" if near else f" ({who} {shown(frozenset(axes))})"
    return f"axis {axis!r} is not bound here{hint}"


def _at_collective(use: AxisUse, facts: Facts) -> Iterator[Finding]:
    name = use.name.rpartition(".")[2]
    first = _cause(use, facts)
    if first is not None:
        kind = "jit binds no axis" if first.what == OF_JIT else f"{_last(first.what)} has no axis_name"
        message = f"{kind}, but {name} over {use.axis!r} runs in it; map over it by jax.pmap(f, axis_name={use.axis!r})"
        if first.what != OF_JIT:
            message = f"{kind}, but {name} over {use.axis!r} runs in it; write axis_name={use.axis!r}"
        yield from facts.finding(first.module, first.node, CODE, message, (Step(use.module, use.call, name), *use.way))
        return
    message = f"{name}: {_told(use, facts)}"
    place = _written(use)
    axes = use.environment.axes if use.environment.complete else known_axes(facts.resolver).names
    if place is not None and facts.names.get(place[0].path) is not None:
        fix = respelled(place[1], use.axis, axes, place[0], facts.resolver)
        yield from facts.finding(*place, CODE, message, (*use.way, Step(use.module, use.call, name)), fix)
    else:
        fix = respelled(use.call, use.axis, axes, use.module, facts.resolver)
        yield from facts.finding(use.module, use.call, CODE, message + _chain(use.way), use.way, fix)


def _written(use: AxisUse) -> tuple[Module, ast.expr] | None:
    """Where a partial somewhere else names the axis, as in `psum = partial(lax.psum, axis_name="i")`."""
    node = use.given.expression if use.given is not None else None
    if use.given is None or not isinstance(node, ast.Constant) or node.value != use.axis:
        return None
    inside = any(part is node for part in ast.walk(use.call))
    return None if inside else (use.given.module, node)


def _last(what: str) -> str:
    return what.partition(" maps it over ")[0]


def _cause(use: AxisUse, facts: Facts) -> Step | None:
    """The jit or the map without an axis name that a collective is reached by, where other maps bind its axis."""
    bound = any(other.call is use.call and use.axis in other.environment.axes for other in facts.axis_uses)
    if use.environment.axes or not use.environment.complete or not bound:
        return None
    nameless = [step for step in use.way if step.what == OF_JIT or " maps it over " in step.what]
    step = nameless[-1] if nameless else None
    if step is None or facts.names.get(step.module.path) is None:
        return None
    return step if step.what == OF_JIT or step.what.startswith("pmap ") else None


def _told(use: AxisUse, facts: Facts) -> str:
    if not use.environment.complete:
        return unbound(use.axis, known_axes(facts.resolver).names, "the project's maps and meshes have only")
    if not use.environment.axes and use.way and " maps it over " not in use.way[-1].what:
        outside = [step for step in use.way if step.what in (OF_HOST, OF_JIT)]
        if outside:
            return f"axis {use.axis!r} is not bound here: {outside[-1].what}"
    return unbound(use.axis, use.environment.axes, "the maps around it bind")


def _chain(way: Sequence[Step]) -> str:
    """The calls from the innermost map to the collective; their places are in the notes."""
    maps = [number for number, step in enumerate(way) if " maps it over " in step.what]
    steps = [step.what for step in way[maps[-1] + 1 :]] if maps else []
    names = [what.removeprefix("calls ") for what in steps if what.startswith("calls ")]
    return f" (reached through {' -> '.join(names)})" if names else ""
