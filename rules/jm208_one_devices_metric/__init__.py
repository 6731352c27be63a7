"""JM208: a metric is read from one device that nothing has averaged over them."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step, shown
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.first_devices import Taken
from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.flow.variance import AbstractValue, Level, Reading
from jaxmigrate.flow.variance.lattice import BESIDE, DATA, MEAN, leaves_of
from jaxmigrate.program.collectives import SHARD_MAPS, VMAP
from jaxmigrate.program.functions import own_statements, returned_by
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import calls_of, last_name
from jaxmigrate.program.values import Function, Parameter

CODE = "JM208"
METRIC = re.compile(
    r"loss|cost|metric|accurac|(^|_)acc(_|$)|error|(^|_)(err|mse|mae|nll|ppl|elbo|kl|fid|psnr|bce|ce|l1|l2|bpd)(_|$)"
    r"|perplexity|reward|returns?$|grad_norm|entropy|stats$|(^|_)(logs?|info|aux)$|energy|scalars?$|(^|_)(accept|pmove)"
)
MAKES_METRICS = re.compile(r"metric|loss")
REDUCES = re.compile(r"psum|pmean|all_gather")
FUNCTION = re.compile(r"_?(fn|func|function)$")
DEEPEST = 4  # functions behind one another
# In a comment right above, by which that is meant: "take results from the first replica"
BEHIND = 2  # lines behind a call in which a comment tells of its results
SAID = re.compile(r"#.*\b(first|one|single|0th)\b.{0,20}\b(replicas?|devices?|shards?|cores?)\b", re.IGNORECASE)
NO_METRIC = re.compile("batch_stats|logit|state|param|image|sample")


def check(facts: Facts) -> Iterator[Finding]:
    """`metrics["loss"][0]` and `unreplicate(metrics)` of what certainly differs between the devices of a map.

    Told where it leaves the mapped function, for there it is to be averaged.
    """
    reported: set[ast.expr] = set()
    for ways in facts.readings_along:
        for found, reading in ways:
            if found.name == VMAP or not found.axes or reading.returned.level == Level.NO:
                continue
            if found.name in SHARD_MAPS and not is_stacked(found):
                continue
            for call, taken, module, name, key in _told(found, reading, facts):
                on_host = _averages_others(call, taken, facts)
                home, place = (None if on_host else _leaving(taken, found, key, facts)) or (module, taken.node)
                if _is_reduced_by_those(place, home, facts):
                    continue
                if home.path not in facts.names:
                    home, place = module, taken.node
                if place not in reported and taken.node not in reported:
                    reported |= {place, taken.node}
                    yield from _finding(place, home, taken, module, name, found, facts)


def _finding(
    place: ast.expr, home: Module, taken: Taken, module: Module, name: str, found: DeviceMap, facts: Facts
) -> Iterator[Finding]:
    axis = shown(found.axes)
    message = (
        f"this is the {name} of device 0 alone: nothing has averaged it over {axis}; "
        f"return jax.lax.pmean({name}, {axis}) from the mapped function"
    )
    if place is not taken.node:
        message = (
            f"{name} is not averaged over {axis}, and only device 0's is read; return jax.lax.pmean({name}, {axis})"
        )
    way = () if place is taken.node else (Step(module, taken.node, "device 0's is read here"),)
    yield from facts.finding(home, place, CODE, message, way)


def _averages_others(call: ast.Call, taken: Taken, facts: Facts) -> bool:
    """Whether the host averages other results of a map over the devices: what it reads of one is the exception."""
    return any(one is call and path != taken.path for one, path in facts.host.averaged)


def _leaving(taken: Taken, found: DeviceMap, key: str, facts: Facts) -> tuple[Module, ast.expr] | None:
    """The expression of what the mapped function returns that is taken later, in the function that made it."""
    function: Function | None = found.function
    place: tuple[Module, ast.expr] | None = None
    path = list(taken.path)
    for _ in range(DEEPEST):
        node = _returned(function) if function is not None else None
        if function is None or node is None:
            break
        if place is not None and not METRIC.search(getattr(function.node, "name", "")):
            break  # it computes for one device, which is its own business
        while path and (inner := _part(node, path[0])) is not None:
            node = inner
            path.pop(0)
        place = (function.module, node)
        function = _maker(node, path, function.module, facts)
    return (place[0], _made_at(place[1], key, place[0])) if place is not None else None


def _made_at(node: ast.expr, key: str, module: Module) -> ast.expr:
    """What the name that is returned is bound to, or what is entered in it under a key: it is to be reduced there."""
    around = module.table.function_of(node)
    if not isinstance(node, ast.Name) or not isinstance(around, ast.FunctionDef):
        return node
    found: ast.expr = node
    for one in own_statements(around):
        if not isinstance(one, ast.Assign) or one.lineno >= node.lineno or len(one.targets) != 1:
            continue
        match one.targets[0]:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=held)) if name == node.id:
                if held == key or (not key and METRIC.search(str(held))):
                    return one.value
            case ast.Name(id=name) if name == node.id and not isinstance(one.value, ast.Name):
                found = one.value if not isinstance(one.value, ast.Dict) or one.value.keys else node
    return found


def _returned(function: Function) -> ast.expr | None:
    returns = [one for one in returned_by(function.node) if one is not None]
    return returns[0] if returns else None


def _part(node: ast.expr, key: int | str) -> ast.expr | None:
    """The part of a tuple or dictionary that a key takes."""
    match node, key:
        case ast.Tuple(elts=elements), int() if -len(elements) <= key < len(elements):
            return elements[key]
        case ast.Dict(keys=keys, values=values), str():
            named = [v for k, v in zip(keys, values, strict=True) if isinstance(k, ast.Constant) and k.value == key]
            return named[0] if named else None
    return None


def _maker(node: ast.expr, path: list[int | str], module: Module, facts: Facts) -> Function | None:
    """The function of the project that made what a name holds; `path` becomes that in what it returns."""
    if isinstance(node, ast.Name):
        bindings = facts.resolver.bindings_at(node, module)
        binding = bindings[-1] if len({id(b.value) for b in bindings}) == 1 else None
        if binding is None or binding.kind != "assign" or binding.value is None:
            return None
        path[:0] = binding.path
        node = binding.value
    values = facts.resolver.values(node.func, module) if isinstance(node, ast.Call) else ()
    return values[0] if len(values) == 1 and isinstance(values[0], Function) else None


def _is_reduced_by_those(node: ast.expr, module: Module, facts: Facts) -> bool:
    """Whether a function that is passed in makes metrics, and such functions reduce theirs or are out of sight."""
    made = facts.resolver.assigned(node, module)
    values = facts.resolver.values(made.func, module) if isinstance(made, ast.Call) else ()
    if not values or not all(isinstance(value, Parameter) for value in values) or not isinstance(made, ast.Call):
        return False
    word = FUNCTION.sub("", last_name(made.func))
    makes, reduces = _making(facts.resolver)
    return bool(word) and (any(word in name for name in reduces) or not any(word in name for name in makes))


@once
def _making(resolver: Resolver) -> tuple[frozenset[str], frozenset[str]]:
    """The names of the program's functions that make metrics, and of those that reduce them over devices."""
    modules = [one for one in resolver.project.program if METRIC.search(one.text)]
    functions = (node for module in modules for node in module.table.own_scope if isinstance(node, ast.FunctionDef))
    named = [one for one in functions if MAKES_METRICS.search(one.name)]
    reducing = (one for one in named if any(REDUCES.search(last_name(call.func)) for call in calls_of(one)))
    return frozenset(one.name for one in named), frozenset(one.name for one in reducing)


def _told(found: DeviceMap, reading: Reading, facts: Facts) -> Iterator[tuple[ast.Call, Taken, Module, str, str]]:
    if not any(one.level == Level.YES or one.marks & {DATA, MEAN, BESIDE} for one in leaves_of(reading.returned)):
        return
    for call, module in facts.runs_of(found):
        for taken in facts.taken_of(call, module):
            if _is_given_back(call, taken, module) or _is_said(call, taken, module, reading):
                continue
            name = _metric(reading.returned, taken)
            if name is not None and _metric(facts.confirmed(found, reading).returned, taken) is not None:
                yield call, taken, taken.home or module, name, _key(reading.returned, taken)


def _is_given_back(call: ast.Call, taken: Taken, module: Module) -> bool:
    """Whether what is taken is given to the map again, as a state is: `(params, aux), loss = step(params, aux, x)`."""
    statement = module.table.parents.get(call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    for key in taken.path:
        if isinstance(target, ast.Tuple) and isinstance(key, int) and -len(target.elts) <= key < len(target.elts):
            target = target.elts[key]
    if not isinstance(target, ast.Name | ast.Attribute) or METRIC.search(last_name(target).lower().replace("aux", "")):
        return False  # which is added up
    given = (*call.args, *(one.value for one in call.keywords))
    return ast.unparse(target) in {ast.unparse(one) for one in given}


def _is_said(call: ast.Call, taken: Taken, module: Module, reading: Reading) -> bool:
    """Whether a comment above, or behind the call, says that one device's is taken, of metrics that nothing reduces."""
    lines, end = (taken.home or module).lines, call.end_lineno or call.lineno
    above = itertools.takewhile(lambda one: one.strip().startswith("#"), reversed(lines[: taken.node.lineno - 1]))
    if not any(map(SAID.search, (*above, *module.lines[end : end + BEHIND]))):
        return False
    metrics = reading.returned
    for key in taken.path:
        parts = metrics.parts or ()
        metrics = parts[key] if isinstance(key, int) and -len(parts) <= key < len(parts) else metrics
    return not any(one.level == Level.NO and one.reduced for one in leaves_of(metrics))


def _metric(returned: AbstractValue, taken: Taken) -> str | None:
    """The metric in what is taken that differs between devices, by its name; None where there is none."""
    value: AbstractValue | None = returned
    beside = False
    for key in taken.path:
        if value is None:
            return None
        beside = _is_beside_reduced(value, key)
        if isinstance(key, int):
            value = (
                value.parts[key] if value.parts is not None and -len(value.parts) <= key < len(value.parts) else None
            )
        else:
            value = value.fields.get(key) if value.fields is not None else value
    if value is None or (isinstance(taken.node, ast.Subscript) and value.parts is not None):
        return None  # `out[0]` of a tuple is the first of what the function returns
    return _differing(value, taken.names, beside)


def _key(returned: AbstractValue, taken: Taken) -> str:
    """The key of what differs in the dictionary that is taken."""
    value: AbstractValue | None = returned
    for key in taken.path:
        parts = value.parts if value is not None else None
        if isinstance(key, int) and parts is not None and -len(parts) <= key < len(parts):
            value = parts[key]
        elif isinstance(key, str):
            return key
    fields = value.fields if value is not None and value.fields else {}
    return next((name for name, one in fields.items() if _differing(one, (*taken.names, name)) is not None), "")


def _is_beside_reduced(value: AbstractValue, key: int | str) -> bool:
    """Whether another part of a value is reduced: then so should be all metrics of which one device's are read."""
    parts = value.parts or ()
    others = [one for number, one in enumerate(parts) if number != key and number - len(parts) != key]
    others += [one for name, one in (value.fields or {}).items() if name != key]
    return any(one.level == Level.NO and one.reduced and one.kind != "tree" for one in others)


def _differing(value: AbstractValue, names: tuple[str, ...], beside: bool = False) -> str | None:
    if value.fields:
        known = any(one.level == Level.NO and one.reduced for one in value.fields.values())
        above = () if known else names  # beside metrics that are reduced there may be what is none
        found = (_differing(inner, (*above, name), beside or known) for name, inner in value.fields.items())
        return next((one for one in found if one is not None), None)
    if value.parts:
        found = (_differing(inner, names, beside) for inner in value.parts)
        number, name = next(((i, one) for i, one in enumerate(found) if one is not None), (0, None))
        return f"{name}[{number}]" if name is not None else None
    own = frozenset({DATA, MEAN, BESIDE}) if beside else frozenset({DATA})
    differs = value.level == Level.YES or (value.level == Level.MAY and not value.marks.isdisjoint(own))
    if not differs or any(NO_METRIC.search(name.lower()) for name in names):
        return None
    named = MEAN in value.marks or any(METRIC.search(name.lower()) for name in names)
    written = [name for name in names if name.isidentifier()]
    return (written[-1] if written else "value") if named else None


def is_stacked(found: DeviceMap) -> bool:
    """Whether a body gives back one row for each device: `y[None]`."""
    texts = [ast.unparse(one) for one in returned_by(found.function.node) if one is not None]
    return any("[None]" in text or "expand_dims" in text or "newaxis" in text for text in texts)
