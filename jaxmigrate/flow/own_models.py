"""Maps whose devices each train a model of their own: agents, members of a population, parts of one array of weights.

Their parameters are to differ, so that nothing reduces their gradients.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.readings import DeviceMap, innermost
from jaxmigrate.flow.shard_gradients import ARRAYS, is_split
from jaxmigrate.program.collectives import PMAPS, VMAP
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.library import last_names
from jaxmigrate.program.modules import Module
from jaxmigrate.program.passing import passed_by
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.trees import TREE_MAP_NAMES
from jaxmigrate.program.values import Application, Class, External, Function

TRAINED = re.compile("state|param|weight|theta|model|learner|agent|member|^w$|^w_|net", re.IGNORECASE)
INITIALISES = re.compile("init|create|make|new|build")
REPLICATING = last_names("replicates")
KEEPING = frozenset({"replace", "create", "device_put", "device_put_sharded"})
DEEPEST = 5


def trains_own_models(found: DeviceMap, facts: Facts) -> bool:
    """Whether some call gives a map a state that is put together of several, one for each device."""
    names, resolver = found.parameters(), facts.resolver
    given = [(one, module) for one, module, n in facts.given_to(found) if n < len(names) and TRAINED.search(names[n])]
    if any(_are_several(one, module, resolver, 0) for one, module in given):
        return True
    apart = any(
        _starts_apart(made, module, resolver) for one, module in given for made in _calls(one, module, resolver)
    )
    return apart and any(last_name(c.func) in REPLICATING for one, m in given for c in _calls(one, m, resolver))


def _calls(node: ast.expr, module: Module, resolver: Resolver) -> Iterator[ast.Call]:
    """The calls that give what a name holds."""
    bindings = resolver.bindings_at(node, module) if isinstance(node, ast.Name) else []
    for one in bindings:
        if one.kind == "assign" and not one.path and isinstance(one.value, ast.Call):
            yield one.value


def _starts_apart(call: ast.Call, module: Module, resolver: Resolver) -> bool:
    """Whether a mapped function makes a state on each device, by a key of its own.

    A program that replicates the other states of a step means that.
    """
    made = resolver.value(call.func, module)
    mapped = isinstance(made, Application) and isinstance(made.callee, External) and made.callee.name in PMAPS
    if not mapped or INITIALISES.search(last_name(call.func)) is None:
        return False
    keys = [one.func for given in call.args for one in _calls(given, module, resolver)]
    return any(last_name(one) == "split" for one in keys)


def _are_several(node: ast.expr, module: Module, resolver: Resolver, depth: int) -> bool:
    """Whether an expression holds several unlike things side by side, in an axis for the devices."""
    if depth > DEEPEST:
        return False
    if is_split(node, module, resolver):
        return True
    match node:
        case ast.Name():
            values = [one.value for one in resolver.bindings_at(node, module) if one.kind == "assign" and not one.path]
        case ast.Attribute(value=ast.Name(id="self"), attr=attr):
            values = [one.value for one in module.table.attributes if one.attr == attr]
        case ast.Subscript(value=whole, slice=ast.Slice()):
            return _are_several(whole, module, resolver, depth + 1)
        case ast.Call():
            return _makes_several(node, module, resolver, depth)
        case _:
            return False
    return any(one is not None and _are_several(one, module, resolver, depth + 1) for one in values)


def _makes_several(call: ast.Call, module: Module, resolver: Resolver, depth: int) -> bool:
    if last_name(call.func) in TREE_MAP_NAMES and any(isinstance(one, ast.Starred) for one in call.args):
        return any(isinstance(one, ast.Starred) and _are_unlike(one.value, module, resolver) for one in call.args)
    value = resolver.value(call.func, module)
    if isinstance(value, External) and value.name in ARRAYS and call.args:
        return isinstance(call.args[0], ast.ListComp) and _are_unlike(call.args[0], module, resolver)
    if isinstance(value, Application) and value.callee == External(VMAP) and value.arguments:
        made = value.arguments[0].expression
        return made is not None and INITIALISES.search(last_name(made)) is not None
    function = innermost(value, resolver)
    if function is not None and not isinstance(function.node, ast.Lambda):
        returned = returned_by(function.node)
        one = returned[0] if len(returned) == 1 else None
        if one is not None and (given := _of_given(one, call, function)) is not None:
            starred, argument = given
            several = _are_unlike if starred else partial(_are_several, depth=depth + 1)
            return several(argument, module, resolver)
        return one is not None and _are_several(one, function.module, resolver, depth + 1)
    if isinstance(value, Class) or last_name(call.func) in KEEPING:
        fields = [*call.args, *(one.value for one in call.keywords)]
        return any(_are_several(one, module, resolver, depth + 1) for one in fields)
    return False


def _of_given(returned: ast.expr, call: ast.Call, function: Function) -> tuple[bool, ast.expr] | None:
    """What a function is given that it stacks leaf by leaf, or takes some rows of, and whether it stacks it."""
    if not isinstance(returned, ast.Call) or last_name(returned.func) not in TREE_MAP_NAMES or len(returned.args) != 2:
        return None
    made, over = returned.args
    starred = isinstance(over, ast.Starred)
    over = over.value if isinstance(over, ast.Starred) else over
    if not isinstance(over, ast.Name) or not isinstance(made, ast.Lambda):
        return None
    takes = isinstance(made.body, ast.Subscript) and isinstance(made.body.slice, ast.Slice)
    given = passed_by(call, function.passed_names()).get(over.id)
    return (starred, given) if given is not None and (starred or takes) else None


def _are_unlike(listed: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether a list is no repetition of one thing: `[state] * n`, `[state for _ in range(n)]`."""
    held = resolver.assigned(listed, module)
    match held:
        case ast.BinOp():
            return False
        case ast.ListComp(elt=element, generators=[ast.comprehension(target=target)]):
            names = {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}
            return any(isinstance(one, ast.Name) and one.id in names for one in ast.walk(element))
    return True
