"""JM107: specs, axes or shardings for another number of arguments or results than a function has."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from jaxmigrate.findings import Finding
from jaxmigrate.flow.call_counts import miscounted
from jaxmigrate.flow.counts import entries, keys, results, taken
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.jits import sharded_jits
from jaxmigrate.flow.readings import DeviceMap, is_scan
from jaxmigrate.flow.results_used import unlike_calls
from jaxmigrate.program.collectives import ONE_AXIS_MAPS, PMAPS, VMAP
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.scopes import defaults_of
from jaxmigrate.program.values import Argument, External, Function, Partial, Value
from jaxmigrate.terminal import plural

CODE = "JM107"
RANGE = tuple[int, int]


def check(facts: Facts) -> Iterator[Finding]:
    """Tuples that no call of the function can match, be they for its arguments or for its results."""
    told: set[tuple[str, int]] = set()
    for finding in dict.fromkeys(_of_maps(facts)):  # of several functions one map may be of
        told.add((finding.path, finding.line))
        yield finding
    for given, message in unlike_calls(facts):
        for finding in facts.finding(given.module, given.expression, CODE, message) if given.expression else ():
            if (finding.path, finding.line) not in told:
                told.add((finding.path, finding.line))
                yield finding
    yield from dict.fromkeys(_of_jits(facts))
    for module, call, message in miscounted(facts):
        yield from facts.finding(module, call, CODE, message)
    yield from _of_vmaps(facts)
    yield from _of_keywords(facts)


def _of_keywords(facts: Facts) -> Iterator[Finding]:
    """Calls with keywords of what a shard_map of JAX's gives, be it compiled."""
    for one in facts.shard_calls:
        named = any(keyword.arg is not None for keyword in one.call.keywords)
        own = isinstance(one.made.callee, External) and one.made.callee.name.startswith("jax.")
        if named and own and not one.module.is_test:
            message = "what shard_map gives takes no keyword arguments: pass them by position"
            yield from facts.finding(one.module, one.call, CODE, message)


def _of_vmaps(facts: Facts) -> Iterator[Finding]:
    """in_axes of a vmap without an axis name that is called where it is made."""
    for module, made in facts.calls("vmap"):
        call = module.table.parents.get(made)
        given = next((k.value for k in made.keywords if k.arg == "in_axes"), None)
        if given is None or not isinstance(call, ast.Call) or call.func is not made:
            continue
        count = entries(given, module, facts.resolver)
        plain = not call.keywords and not any(isinstance(one, ast.Starred) for one in call.args)
        if count is None or not plain or count == len(call.args) or any(k.arg == "axis_name" for k in made.keywords):
            continue
        if facts.resolver.value(made.func, module) == External(VMAP):
            message = f"in_axes is for {plural(count, 'argument')}, but {len(call.args)} are given"
            yield from facts.finding(module, given, CODE, message)


def _of_maps(facts: Facts) -> Iterator[Finding]:
    """Those of maps of functions in sight."""
    arrays = {id(found): reading.returned.kind == "array" for found, reading in facts.readings}
    for found in facts.all_maps:
        by_axes = found.name in PMAPS or found.name in ONE_AXIS_MAPS
        keyword = "in_axes" if by_axes else "in_specs"
        given = found.keyword(keyword, None if by_axes else 2)
        if given is not None and found.keyword("static_broadcasted_argnums") is None:
            if not (by_axes and _has_keywords(given, found, facts)):
                yield from _of_arguments(given, keyword, found.function, positional(found), facts)
            yield from _of_call(given, keyword, found, facts)
        keyword = "out_axes" if by_axes else "out_specs"
        given = found.keyword(keyword, None if by_axes else 3)
        if given is not None and not is_scan(found.mapped):
            one = arrays.get(id(found), False)
            yield from _of_results(given, keyword, found.mapped, facts, one_array=one)


def _has_keywords(given: Argument, found: DeviceMap, facts: Facts) -> bool:
    """Whether some call may pass by keyword what in_axes leaves out: pmap and vmap map that over its first axis."""
    count = entries(given.expression, given.module, facts.resolver) if given.expression is not None else None
    rest = () if count is None else found.parameters()[count:]
    known = [call for call, _ in facts.calls_of(found)] if rest else []
    every = known or ([call for module in facts.modules for call in module.table.calls] if rest else [])
    return any(keyword.arg in rest for call in every for keyword in call.keywords)


def _of_call(given: Argument, keyword: str, found: DeviceMap, facts: Facts) -> Iterator[Finding]:
    """Where a map is called in place with another number of arguments, which a default would have allowed."""
    made, module = found.application.node, found.application.module
    call = module.table.parents.get(made)
    if not isinstance(call, ast.Call) or call.func is not made or given.expression is None:
        return
    if found.within is not None:
        return  # made in the body of what is called here: the call is of what maps, not of the map
    count, fitting = entries(given.expression, given.module, facts.resolver), positional(found)
    plain = not call.keywords and not any(isinstance(one, ast.Starred) for one in call.args)
    if count is None or fitting is None or not plain or count == len(call.args):
        return
    if fitting[0] <= count <= fitting[1]:
        message = f"{keyword} is for {plural(count, 'argument')}, but {len(call.args)} are given"
        yield from facts.finding(given.module, given.expression, CODE, message)


def _of_jits(facts: Facts) -> Iterator[Finding]:
    for found in sharded_jits(facts):
        counts, static = taken(found.value), found.static(facts.resolver)
        given = found.keyword("in_shardings")
        if given is not None and counts is not None and static is not None:
            counts = (counts[0] - static, counts[1] - static)
            yield from _of_arguments(given, "in_shardings", found.function, counts, facts)
        given = found.keyword("out_shardings")
        if given is not None:
            one = isinstance(found.value, Function) and _returns_difference(found.value)
            yield from _of_results(given, "out_shardings", found.value, facts, one_array=one)


def _returns_difference(function: Function) -> bool:
    """Whether a function returns what only arrays can be: `return w - lr * g`; a sum may be one of tuples."""
    returned = returned_by(function.node)
    arithmetic = (ast.Sub, ast.Div, ast.Pow, ast.MatMult)
    return bool(returned) and all(isinstance(one, ast.BinOp) and isinstance(one.op, arithmetic) for one in returned)


def _of_arguments(
    given: Argument, keyword: str, function: Function, counts: RANGE | None, facts: Facts
) -> Iterator[Finding]:
    count = entries(given.expression, given.module, facts.resolver) if given.expression is not None else None
    if given.expression is None or count is None or counts is None or counts[0] <= count <= counts[1]:
        return
    message = f"{keyword} is for {plural(count, 'argument')}, but {_name(function)} takes {_shown(*counts)}"
    yield from facts.finding(given.module, given.expression, CODE, message)


def _of_results(
    given: Argument, keyword: str, mapped: Value, facts: Facts, *, one_array: bool = False
) -> Iterator[Finding]:
    function = mapped.callee if isinstance(mapped, Partial) else mapped
    if given.expression is None or not isinstance(function, Function):
        return
    for spec, returned_one in _dictionaries(given.expression, returned_by(function.node)):
        said, made = keys(spec), keys(returned_one)
        if said is not None and made is not None and said != made:
            which = ", ".join(sorted(repr(key) for key in said ^ made))
            message = f"{keyword} and what {_name(function)} returns have different keys: only one of them has {which}"
            yield from facts.finding(given.module, spec, CODE, message)
    count = entries(given.expression, given.module, facts.resolver)
    returned = results(function)
    if count is None or (returned is None and not one_array):
        return
    if returned is None:
        message = f"{keyword} is a tuple, but {_name(function)} returns one array; leave out the parentheses"
        yield from facts.finding(given.module, given.expression, CODE, message)
    elif len(returned.elts) != count:
        message = f"{keyword} is for {plural(count, 'result')}, but {_name(function)} returns {len(returned.elts)}"
        yield from facts.finding(given.module, given.expression, CODE, message)


def _dictionaries(spec: ast.expr, returned: Sequence[ast.expr | None]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The dictionaries in a spec with those that stand in their places in what is returned."""
    one = returned[0] if len(returned) == 1 else None
    if isinstance(spec, ast.Tuple) and isinstance(one, ast.Tuple) and len(spec.elts) == len(one.elts):
        for inner, part in zip(spec.elts, one.elts, strict=True):
            yield from _dictionaries(inner, [part])
    elif isinstance(spec, ast.Dict) and isinstance(one, ast.Dict):
        yield spec, one


def positional(found: DeviceMap) -> RANGE | None:
    """How many positional arguments a mapped function takes, at least and at most; None where it takes any number."""
    spec = found.function.node.args
    if spec.vararg is not None:
        return None
    names = found.parameters()
    optional = {name for name, _ in defaults_of(spec)} if not is_scan(found.mapped) else set[str]()
    return len([name for name in names if name not in optional]), len(names)


def _name(function: Function) -> str:
    return "the lambda" if isinstance(function.node, ast.Lambda) else function.node.name


def _shown(least: int, most: int) -> str:
    return str(most) if least == most else f"{least} to {most}"
