"""Positions of static arguments that do not fit a function's parameters: one was put in before them, or left out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.facts import BY_KEYWORD, Facts
from jaxmigrate.flow.readings import DeviceMap, unmapped
from jaxmigrate.program.collectives import PMAPS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import all_parameters, defaults_of
from jaxmigrate.program.values import Argument, Constant, External, Function

STATIC = "static_broadcasted_argnums"
ARRAYS = re.compile(
    r"^((train|opt|optimizer|model)_)?states?$|^params$|^batch$|^images$|^inputs$|^labels$|^([a-z]+_)?rngs?$"
)
ON_DEVICE = ("jax.numpy.", "numpy.", "jax.random.", "flax.jax_utils.", "flax.training.common_utils.")
OBJECTS = frozenset({"self", "cls"})  # of the program's classes, whatever a call of one of them shows
OF_HOST = frozenset({"bool", "str", "Callable"})


class Shifted(NamedTuple):
    """Where something is static that should not be, or is not and should be, and why."""

    module: Module
    node: ast.expr
    message: str


def shifted(facts: Facts) -> Iterator[Shifted]:
    """Static positions of pmaps that hold arrays, and mapped ones that are given what is no array."""
    for found in facts.all_maps:
        if found.name not in PMAPS or found.within is not None:
            continue
        given = found.keyword(STATIC, 3)
        numbers = _numbers(given, facts)
        if numbers is None:
            continue
        one = _found(found, given, numbers, facts)
        if one is not None:
            yield one


def _numbers(given: Argument | None, facts: Facts) -> tuple[int, ...] | None:
    """The positions that are static; None where they are not known."""
    if given is None:
        return ()
    content = facts.resolver.literal(given)
    content = content if isinstance(content, tuple) else (content,)
    return content if all(isinstance(one, int) for one in content) else None


def _found(found: DeviceMap, given: Argument | None, numbers: tuple[int, ...], facts: Facts) -> Shifted | None:
    names = found.parameters()
    if found.mapped is not found.function or found.function.node.args.vararg is not None:
        return None
    place = given.expression if given is not None else None
    beyond = [n for n in numbers if n >= len(names) + len(found.function.node.args.kwonlyargs)]
    if beyond and place is not None and given is not None:
        message = f"{STATIC}: there is no argument {beyond[0]}, counted from 0; the last one is {names[-1]}"
        return Shifted(given.module, place, message)
    shared = unmapped(found, facts.resolver)
    mistaken = _mapped_host_value(found, shared, facts) if shared is not None else None
    arrays = [n for n in numbers if 0 <= n < len(names) and _is_array(found, n, facts)]
    if arrays and place is not None and given is not None:
        instead = f", and {names[mistaken[2]]} is not" if mistaken is not None and mistaken[2] < len(names) else ""
        message = f"{STATIC}: argument {arrays[0]} is {names[arrays[0]]}, an array, which cannot be static{instead}"
        return Shifted(given.module, place, f"{message}; count the positions again")
    if mistaken is not None:
        node, module, number = mistaken
        text = ast.unparse(node)[:30]
        message = f"pmap splits {names[number]} over the devices, but {text} is no array: make argument {number} static"
        where = (given.module, place) if given is not None and place is not None else (module, node)
        return Shifted(*where, message)
    return None


def _mapped_host_value(found: DeviceMap, shared: frozenset[int], facts: Facts) -> tuple[ast.expr, Module, int] | None:
    """Something that a call passes for an argument which is split over devices, and that is no array for certain."""
    names = found.parameters()
    for node, module, number in facts.given_to(found):
        if number == BY_KEYWORD or number in shared or number >= len(names) or module.is_test:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, bool | str):
            return node, module, number
        if isinstance(node, ast.Lambda):
            return node, module, number
        if isinstance(facts.resolver.value(node, module), Function) and isinstance(node, ast.Name):
            return node, module, number
    return None


def _is_array(found: DeviceMap, number: int, facts: Facts) -> bool:
    """Whether a parameter is an array, or a tree of them: by its name, and by what calls pass for it."""
    name = found.parameters()[number]
    if name in OBJECTS:
        return False
    spec = found.function.node.args
    annotations = {one.arg: one.annotation for one in all_parameters(spec)}
    annotation = annotations.get(name)
    defaults = dict(defaults_of(spec))
    if annotation is not None and (ast.unparse(annotation).rpartition(".")[2] in OF_HOST | {"int", "float"}):
        return False
    if isinstance(defaults.get(name), ast.Constant):
        return False
    given = [(node, module) for node, module, n in facts.given_to(found) if n == number]
    if not given or any(_is_host_value(node, module, facts) for node, module in given):
        return False
    if any(_is_made_array(node, module, facts) for node, module in given):
        return True
    return ARRAYS.search(name) is not None


def _is_host_value(node: ast.expr, module: Module, facts: Facts) -> bool:
    """Whether an argument is a constant, a function or an object of the program's."""
    value = facts.resolver.value(node, module)
    return isinstance(node, ast.Constant | ast.Lambda) or isinstance(value, Constant | Function)


def _is_made_array(node: ast.expr, module: Module, facts: Facts) -> bool:
    """Whether an argument is an array for certain: made by a function of arrays, or with a slice for each device."""
    axis = facts.device_axes.of(node, module)
    if axis is not None:
        return True
    callee = facts.resolver.value(node.func, module) if isinstance(node, ast.Call) else None
    return isinstance(callee, External) and callee.name.startswith(ON_DEVICE)
