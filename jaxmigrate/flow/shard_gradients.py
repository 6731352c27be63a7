"""Gradients of weights of which each device holds another part, that are reduced as if they were copies of one.

The parts are then all changed by the mean of what belongs to different weights.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.axis_values import axis_names
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.flow.specs import spec_calls
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import GRADIENTS, PMAPS, SHARD_MAPS, argument, axis_argument
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.order import reaching
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import calls_of, last_name
from jaxmigrate.program.trees import TREE_MAP_NAMES
from jaxmigrate.program.values import Application, External, Function

REDUCES = frozenset({"jax.lax.pmean", "jax.lax.psum"})
LAST = frozenset({"pmean", "psum"})
WITH_VALUE = "value_and_grad"
SPLITS = named("cuts")
ARRAYS = named("array-of") | named("stacks")
DEEPEST = 5


class Mixed(NamedTuple):
    """Gradients of parts that are reduced; `given` is what a pmap is passed for them, where that is split."""

    module: Module
    node: ast.expr
    name: str
    axis: str
    given: tuple[Module, ast.expr] | None = None


def mixed_gradients(facts: Facts) -> Iterator[Mixed]:
    """Such reductions in the bodies of maps themselves."""
    for found in facts.all_maps:
        if isinstance(found.function.node, ast.Lambda) or found.name not in PMAPS | SHARD_MAPS:
            continue
        module, names = found.function.module, found.parameters()
        for call, name, axes in _reduced(found, facts.resolver):
            if name not in names:
                continue
            position = names.index(name)
            if found.name in PMAPS:
                for given, home in _split_for(found, position, facts):
                    yield Mixed(module, call, name, min(axes), (home, given))
            else:
                own = _sharded_over(found, position, facts.resolver) & axes
                if own:
                    yield Mixed(module, call, name, min(own))


def _reduced(found: DeviceMap, resolver: Resolver) -> Iterator[tuple[ast.Call, str, frozenset[str]]]:
    """The reductions of gradients with respect to a parameter of a map, with its name and their axes."""
    function, module = found.function.node, found.function.module
    for call in calls_of(function):
        gradients, reduction = _operand(call, module, resolver)
        if gradients is None or reduction is None:
            continue
        made = _gradient(gradients, module, resolver)
        callee = resolver.value(reduction.func, module)
        if made is None or not isinstance(callee, External) or any(k.arg == "axis_index_groups" for k in call.keywords):
            continue
        written = axis_argument(callee.name, call_arguments(reduction, module))
        axes = axis_names(written, module, resolver, {}) if written is not None else None
        if axes and _is_parameter(made, function, module):
            yield reduction, made.id, frozenset(axes)


def _operand(call: ast.Call, module: Module, resolver: Resolver) -> tuple[ast.expr | None, ast.Call | None]:
    """What a call reduces, be it leaf by leaf, and the reduction."""
    if last_name(call.func) in LAST and call.args and _is_reduction(call, module, resolver):
        return call.args[0], call
    if last_name(call.func) in TREE_MAP_NAMES and len(call.args) == 2 and isinstance(call.args[0], ast.Lambda):
        inner, names = call.args[0].body, [one.arg for one in call.args[0].args.args]
        if isinstance(inner, ast.Call) and inner.args and last_name(inner.func) in LAST:
            plain = isinstance(inner.args[0], ast.Name) and inner.args[0].id in names
            if plain and _is_reduction(inner, module, resolver):
                return call.args[1], inner
    return None, None


def _is_reduction(call: ast.Call, module: Module, resolver: Resolver) -> bool:
    callee = resolver.value(call.func, module)
    return isinstance(callee, External) and callee.name in REDUCES


def _gradient(node: ast.expr, module: Module, resolver: Resolver) -> ast.Name | None:
    """The name with respect to which gradients are taken, where an expression is these."""
    if isinstance(node, ast.Call):
        return _differentiated(node, module, resolver, ())
    if not isinstance(node, ast.Name):
        return None
    scope = module.table.scope_of[node]
    holder = scope.lookup(node.id)
    bindings = reaching(holder.bindings[node.id], node, module) if holder is scope and holder is not None else []
    value = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
    if not isinstance(value, ast.Call):
        return None
    path = tuple(one for one in bindings[0].path if isinstance(one, int))
    return _differentiated(value, module, resolver, path) if len(path) == len(bindings[0].path) else None


def _differentiated(call: ast.Call, module: Module, resolver: Resolver, path: tuple[int, ...]) -> ast.Name | None:
    """The first argument of what `grad` makes of a function, if a part of the result is its gradient."""
    made = resolver.value(call.func, module)
    if not isinstance(made, Application) or not isinstance(made.callee, External) or made.callee.name not in GRADIENTS:
        return None
    if argument(made.arguments, 1, "argnums") is not None or any(a.keyword in ("*", "**") for a in made.arguments):
        return None
    last = made.callee.name.rpartition(".")[2]
    auxiliary = argument(made.arguments, 2, "has_aux") is not None
    wanted = (1,) if last == WITH_VALUE else (0,) if auxiliary else ()
    first = call.args[0] if call.args else None
    return first if path == wanted and isinstance(first, ast.Name) else None


def _is_parameter(name: ast.Name, function: ast.AST, module: Module) -> bool:
    """Whether a name is what the mapped function was given, and nothing else."""
    holder = module.table.scope_of[name].lookup(name.id)
    bindings = holder.bindings[name.id] if holder is not None else []
    return holder is not None and holder.node is function and [one.kind for one in bindings] == ["param"]


def _sharded_over(found: DeviceMap, position: int, resolver: Resolver) -> frozenset[str]:
    """The axes over which a parameter of a shard_map is certainly cut: by another dimension than the first.

    What is stacked, a copy for each device, is split by its first one; where that dimension is dropped nothing is told.
    """
    given = found.keyword("in_specs", 2)
    listed = resolver.container(given.expression, given.module) if given is not None and given.expression else None
    if listed is None or not isinstance(listed[0], ast.Tuple) or position >= len(listed[0].elts):
        return frozenset()
    spec = listed[0].elts[position]
    inner, home = resolver.container(spec, listed[1]) or (spec, listed[1])
    axes: set[str] = set()
    for module, node, _ in spec_calls(inner, home, resolver):
        for entry in node.args[1:] if isinstance(node, ast.Call) else ():
            axes.update(axis_names(entry, module, resolver, {}) or ())
    return frozenset(axes)


def _split_for(found: DeviceMap, position: int, facts: Facts) -> Iterator[tuple[ast.expr, Module]]:
    """What calls of a pmap pass for a parameter, where that is one array in parts."""
    for given, module, number in facts.given_to(found):
        if number == position and is_split(given, module, facts.resolver, 0):
            yield given, module


def is_split(node: ast.expr, module: Module, resolver: Resolver, depth: int = 0) -> bool:
    """Whether an array, or one in a container, is made of the parts of another one."""
    if depth > DEEPEST:
        return False
    match node:
        case ast.Name():
            bindings = resolver.bindings_at(node, module)
            return any(
                one.kind == "assign" and one.value is not None and not one.path
                and is_split(one.value, module, resolver, depth + 1)
                for one in bindings
            )  # fmt: skip
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            return any(is_split(one, module, resolver, depth + 1) for one in parts)
        case ast.ListComp(elt=one):
            return is_split(one, module, resolver, depth + 1)
        case ast.Call():
            return _makes_split(node, module, resolver, depth)
    return False


def _makes_split(call: ast.Call, module: Module, resolver: Resolver, depth: int) -> bool:
    value = resolver.value(call.func, module)
    if isinstance(value, External) and value.name in ARRAYS and call.args:
        inner = call.args[0]
        made = resolver.value(inner.func, module) if isinstance(inner, ast.Call) else None
        return isinstance(made, External) and made.name in SPLITS
    if isinstance(value, Function) and not isinstance(value.node, ast.Lambda):
        returned = returned_by(value.node)
        one = returned[0] if len(returned) == 1 else None
        return isinstance(one, ast.Call) and _makes_split(one, value.module, resolver, depth + 1)
    fields = [*call.args, *(one.value for one in call.keywords)]
    made_of = last_name(call.func)[:1].isupper()  # an object of a class that holds parameters
    return made_of and any(is_split(one, module, resolver, depth + 1) for one in fields)
