"""Parameters that each device initialises by a key of its own, and that are trained as if they were replicated."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.flow.stacked_names import nearest
from jaxmigrate.flow.variance import AbstractValue, Draw, Level, Reading
from jaxmigrate.flow.variance.lattice import DRAWN, KEPT, OF_EQUAL, STEP, kept_keys
from jaxmigrate.program.collectives import PMAPS, SHARD_MAPS, VMAP
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.passing import passed_by
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.syntax import calls_of, last_name
from jaxmigrate.program.values import External, Function

SPLIT = "jax.random.split"
OWN_KEYS = named("splits-key")
MAPS = PMAPS | {VMAP}
MANY = PMAPS | SHARD_MAPS
AVERAGES = ("jax.lax.pmean", "jax.lax.psum")
TOGETHER = re.compile(
    "pmean|psum|all_gather|broadcast|axis_index_groups|sync"
)  # by which a function may make them equal
DRAWS = frozenset(name.rpartition(".")[2] for name in named("draws"))
INIT = re.compile(
    "^init(iali[sz]e)?(_fn)?$|(init|make|create|new).*(param|weight|theta|net|model)|(param|weight).*init"
)
GRADIENTS = ("grad", "value_and_grad")
INITIALISING = frozenset({"init", "init_with_output", "lazy_init", "init_weights"})


class Unlike(NamedTuple):
    """A call that gives each device a key of its own for parameters, and the call that trains these."""

    module: Module
    call: ast.Call
    trained: ast.Call


def unlike_parameters(facts: Facts) -> Iterator[Unlike]:
    """Calls of a mapped `network.init` with a key for each device, whose result a pmap trains.

    That one averages gradients over the devices: each device then adds the same steps to parameters of its own.
    """
    training = [found for found, reading in facts.readings if found.name in MANY and averages_gradients(reading)]
    for module, call, key, place in _initialised(facts) if training else ():
        target = _target(call, module, place) if _are_own(key, module, facts) else ""
        trained = _trained(target, call, module, training, facts) if target else None
        if trained is not None:
            yield Unlike(module, call, trained)


class Drifting(NamedTuple):
    """Noise of a device's own on parameters that are replicated, and the call that goes on with what came of it."""

    draw: Draw
    call: ast.Call
    module: Module


def drifting(facts: Facts) -> Iterator[Drifting]:
    """Calls of a pmap that train replicated parameters with averaged gradients, and with noise of each device's own."""
    for found, reading in facts.readings:
        returned = reading.returned
        if found.name not in PMAPS or not {DRAWN, STEP} <= returned.marks or returned.level == Level.NO:
            continue
        names, equal = found.parameters(), facts.replicated(found)
        trained = {n: path for n, path in _differentiated(found.function.node).items() if n in names}
        for call, module in facts.calls_of(found):
            given = passed_by(call, names)
            for name, attribute in trained.items():
                place = _place_of_target(given.get(name), call, module)
                if names.index(name) not in equal or place is None:
                    continue
                part = _part_at(reading.returned, place, attribute)
                if part is None or part.level == Level.NO or not {DRAWN, STEP} <= part.marks:
                    continue
                own = {
                    mark
                    for mark in kept_keys(part)
                    for n in range(len(names))
                    if mark == f"{KEPT}{n}" and n not in equal and _are_split(given.get(names[n]), module)
                }
                draws = [d for d in reading.draws if d.key.level == Level.YES or kept_keys(d.key) & own]
                if draws and (own or part.level == Level.YES):
                    yield Drifting(next((d for d in draws if d.common), draws[-1]), call, module)


def _differentiated(function: FunctionNode) -> dict[str, str]:
    """The names that a function takes gradients with respect to, or to the attribute of: `state` to `state.params`."""
    made = {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Name) and last_name(node.value.func) in GRADIENTS
    }
    found: dict[str, str] = {}
    for call in calls_of(function):
        inner = call.func.func if isinstance(call.func, ast.Call) else call.func
        wanted = last_name(inner) in GRADIENTS and isinstance(call.func, ast.Call)
        if wanted or (isinstance(inner, ast.Name) and inner.id in made):
            match call.args[:1]:
                case [ast.Name(id=name)]:
                    found[name] = ""
                case [ast.Attribute(value=ast.Name(id=name), attr=attribute)]:
                    found[name] = attribute
    return found


def _left_alone(function: FunctionNode) -> frozenset[str]:
    """The names with respect to which gradients are taken that nothing reduces, in a function that reduces others."""
    reduced = {
        one.id
        for call in calls_of(function)
        if TOGETHER.search(ast.unparse(call.func)) or any(TOGETHER.search(ast.unparse(a)) for a in call.args[:1])
        for one in ast.walk(call)
        if isinstance(one, ast.Name)
    }
    ways: dict[str, set[bool]] = {}
    for node in ast.walk(function):
        value = node.value if isinstance(node, ast.Assign) else None
        call = value if isinstance(value, ast.Call) else None
        made = call.func if call is not None else None
        taken = isinstance(made, ast.Call) and last_name(made.func) in GRADIENTS
        if isinstance(node, ast.Assign) and call is not None and taken and call.args:
            names = {one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name)}
            of = next((one.id for one in ast.walk(call.args[0]) if isinstance(one, ast.Name)), "")
            ways.setdefault(of, set()).add(bool(names & reduced))
    return (
        frozenset(name for name, found in ways.items() if found == {False}) if {True} in ways.values() else frozenset()
    )


def _place_of_target(passed: ast.expr | None, call: ast.Call, module: Module) -> int | None:
    """Where among its results a call gives what it was passed for its next time; -1 for the only one."""
    statement = module.table.parents.get(call)
    if passed is None or not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if isinstance(target, ast.Tuple):
        return next((n for n, one in enumerate(target.elts) if ast.unparse(one) == ast.unparse(passed)), None)
    return -1 if ast.unparse(target) == ast.unparse(passed) else None


def _part_at(returned: AbstractValue, place: int, attribute: str) -> AbstractValue | None:
    part: AbstractValue | None = returned
    if place >= 0:
        parts = returned.parts or ()
        part = parts[place] if place < len(parts) else None
    if attribute and part is not None:
        part = (part.fields or {}).get(attribute)
    return part


def _are_split(node: ast.expr | None, module: Module) -> bool:
    """Whether an expression is keys that were split for the devices, as far as the assignments of its names say."""
    texts = [] if node is None else [ast.unparse(node)]
    for name in (one for one in ast.walk(node or ast.Pass()) if isinstance(one, ast.Name)):
        holder = module.table.scope_of[name].lookup(name.id)
        bindings = holder.bindings[name.id] if holder is not None else []
        made = [module.table.statement_of(one.node) for one in bindings if one.kind != "param"]
        texts += [ast.unparse(one.value) for one in made if isinstance(one, ast.Assign)]
    return any("split" in one or "shard_prng" in one for one in texts) and not any("replicate" in t for t in texts)


def _initialised(facts: Facts) -> Iterator[tuple[Module, ast.Call, ast.expr, int]]:
    """Calls that initialise parameters on each device, or for each, and the keys that they are given.

    And where in the tuple of results the parameters are, if one is returned.
    """
    for found in facts.all_maps:
        names = _keys_of_parameters(found.function.node) if _takes_one_each(found) else ()
        for call, module in _calls_of(found, facts) if names else ():
            passed = dict(zip(found.parameters(), call.args, strict=False))
            passed |= {one.arg: one.value for one in call.keywords if one.arg is not None}
            node = found.function.node
            yield from ((module, call, passed[n], _place_of_made(node, n)) for n in names if n in passed)
    for module, made in facts.calls("pmap", "vmap"):
        callee = facts.resolver.value(made.func, module)
        if not isinstance(callee, External) or callee.name not in MAPS or not made.args:
            continue
        mapped = facts.resolver.value(made.args[0], module)
        names = _keys_of_parameters(mapped.node)[:1] if isinstance(mapped, Function) and callee.name == VMAP else ()
        plain = isinstance(made.args[0], ast.Attribute) and made.args[0].attr in INITIALISING
        if plain or (isinstance(mapped, Function) and names == mapped.passed_names()[:1]):
            place = _place_of_made(mapped.node, names[0]) if isinstance(mapped, Function) and names else 0
            yield from ((module, call, call.args[0], place) for call in _calls_of_made(made, module) if call.args)


def _takes_one_each(found: DeviceMap) -> bool:
    """Whether a mapped function works with one key of several: of a pmap, or of a shard_map that drops their axis."""
    body = ast.unparse(found.function.node) if found.name in SHARD_MAPS else ""
    return found.name in PMAPS or "squeeze(0)" in body or "[0]" in body


def _calls_of(found: DeviceMap, facts: Facts) -> Iterator[tuple[ast.Call, Module]]:
    """The calls of a map, also of one that is compiled where it is made: `jit(shard_map(init, ...))(keys)`."""
    yield from facts.calls_of(found)
    module, node = found.application.module, found.application.node
    above = module.table.parents.get(node)
    if isinstance(above, ast.Call) and node in above.args and last_name(above.func) == "jit":
        yield from ((call, module) for call in _calls_of_made(above, module))


def _calls_of_made(made: ast.Call, module: Module) -> Iterator[ast.Call]:
    """The calls of what a call gave: there and then, or by the one name that it is assigned to."""
    above = module.table.parents.get(made)
    if isinstance(above, ast.Call) and above.func is made:
        yield above
    target = above.targets[0] if isinstance(above, ast.Assign) and len(above.targets) == 1 else None
    for node in module.table.named.get(target.id, ()) if isinstance(target, ast.Name) else ():
        call = module.table.parents.get(node)
        if isinstance(call, ast.Call) and call.func is node:
            yield call


def averages_gradients(reading: Reading) -> bool:
    """Whether a mapped function averages, or sums, gradients over the devices."""
    return any(
        one.name in AVERAGES
        and any(v.gradient or OF_EQUAL in v.marks for v in (one.operand, *(one.operand.parts or ())))
        for one in reading.reductions
    )


def _keys_of_parameters(function: FunctionNode) -> list[str]:
    """The parameters of a function by which it draws the parameters of a network that it returns."""
    body = function.body if isinstance(function.body, list) else [function.body]
    if any(TOGETHER.search(ast.unparse(one)) for one in body):
        return []
    return [
        one.arg
        for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        if _initialises(function, one.arg)
    ]


def _initialises(function: FunctionNode, key: str) -> bool:
    """Whether a function returns what `init` made by a key, or by one of those that it was split into."""
    made, inits = _made_by(function, key)
    return any(_holds(one, made, inits) for one in returned_by(function) if one is not None)


def _place_of_made(function: FunctionNode, key: str) -> int:
    """Where in the tuple that a function returns the first is that `init` made; 0 where it returns no tuple."""
    made, inits = _made_by(function, key)
    tuples = [one for one in returned_by(function) if isinstance(one, ast.Tuple)]
    return next((n for one in tuples for n, part in enumerate(one.elts) if _holds(part, made, inits)), 0)


def _holds(node: ast.expr, made: set[str], inits: set[ast.expr]) -> bool:
    return _mentions(node, made) or any(part in inits for part in ast.walk(node))


def _made_by(function: FunctionNode, key: str) -> tuple[set[str], set[ast.expr]]:
    """The names that hold what `init` made by a key or by one of those that it was split into, and its calls."""
    keys, made = {key}, set[str]()
    inits = set[ast.expr]()
    for node in ast.walk(function):
        targets = node.targets if isinstance(node, ast.Assign) else ()
        value = node.value if isinstance(node, ast.Assign) else None
        names = {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
        derived = isinstance(value, ast.Call) and last_name(value.func) in ("split", "fold_in", "clone")
        if value is not None and _mentions(value, keys) and (derived or names <= keys):
            keys |= names
        for call in (one for one in ast.walk(value) if isinstance(one, ast.Call)) if value is not None else ():
            if _is_init(call, keys) or _is_drawn(call, keys, function):
                inits.add(call)
                made |= names
        if value is not None and _mentions(value, made):
            made |= names
    inits |= {call for call in calls_of(function) if _is_init(call, keys) or _is_drawn(call, keys, function)}
    return made, inits


def _is_init(call: ast.Call, keys: set[str]) -> bool:
    given = [*call.args[:1], *(one.value for one in call.keywords if one.arg in ("rngs", "rng", "key"))]
    return last_name(call.func) in INITIALISING and any(_mentions(one, keys) for one in given)


def _is_drawn(call: ast.Call, keys: set[str], function: FunctionNode) -> bool:
    """Whether parameters are drawn one by one, in a function that makes them by its name."""
    by_key = bool(call.args) and _mentions(call.args[0], keys)
    return by_key and last_name(call.func) in DRAWS and INIT.search(getattr(function, "name", "")) is not None


def _mentions(node: ast.expr, names: set[str]) -> bool:
    return any(isinstance(one, ast.Name) and one.id in names for one in ast.walk(node))


def _are_own(node: ast.expr, module: Module, facts: Facts) -> bool:
    """Whether an expression is a key for each device, each another."""
    binding = nearest(node, module) if isinstance(node, ast.Name) else None
    made = node if binding is None or binding.path else binding.value
    callee = facts.resolver.value(made.func, module) if isinstance(made, ast.Call) else None
    return isinstance(callee, External) and callee.name in {SPLIT, *OWN_KEYS}


def _target(call: ast.Call, module: Module, place: int) -> str:
    """What the result of a call, or the one at a place of several, is assigned to: a name or an attribute."""
    statement = module.table.parents.get(call)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or statement.value is not call:
        return ""
    target = statement.targets[0]
    first = target.elts[place] if isinstance(target, ast.Tuple) and place < len(target.elts) else target
    return ast.unparse(first) if isinstance(first, ast.Name | ast.Attribute) else ""


def _trained(target: str, made: ast.Call, module: Module, training: list[DeviceMap], facts: Facts) -> ast.Call | None:
    """The first call of a pmap that averages gradients which is given a name as it was assigned."""
    around = module.table.function_of(made)
    for found in training:
        trained = _differentiated(found.function.node)
        alone = _left_alone(found.function.node)
        for call, home in facts.calls_of(found):
            near = home is module and (module.table.function_of(call) is around or "." in target)
            passed = [n for n, one in enumerate(call.args) if near and ast.unparse(one) == target]
            names = found.parameters()
            known = [n for n in names if n in trained and n not in alone]
            if trained and not known and any(n in alone for n in names):
                continue
            # none where the gradient is of parts of a state
            given = any(n < len(names) and (not known or names[n] in known) for n in passed)
            if given and not _is_mended(target, made, call, module):
                return call
    return None


def _is_mended(target: str, made: ast.Call, trained: ast.Call, module: Module) -> bool:
    """Whether something between two calls gives a name another value, which may make the parameters equal."""
    for node in ast.walk(module.table.function_of(made) or module.tree):
        if isinstance(node, ast.Assign) and made.lineno < node.lineno < trained.lineno:
            names = {
                ast.unparse(one)
                for t in node.targets
                for one in ast.walk(t)
                if isinstance(one, ast.Name | ast.Attribute)
            }
            if target in names:
                return True
    return False
