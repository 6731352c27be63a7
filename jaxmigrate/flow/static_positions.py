"""Positions of static arguments that do not fit a function's parameters: one was put in before them, or left out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.facts import BY_KEYWORD, Facts
from jaxmigrate.flow.kinds_of_parameters import HOST_TYPES, NUMBERS, annotated, is_array_for, is_of_host_for
from jaxmigrate.flow.mapped_calls import JITS
from jaxmigrate.flow.plain_classes import is_configuration, is_plain
from jaxmigrate.flow.readings import DeviceMap, unmapped
from jaxmigrate.program.collectives import PMAPS, argument
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import defaults_of
from jaxmigrate.program.values import Application, Argument, Constant, External, Function, Instance, Partial, Value

STATIC = "static_broadcasted_argnums"
ARRAYS = re.compile(
    r"^((train|opt|optimizer|model)_)?states?$|^params$|^batch$|^images$|^inputs$|^labels$|^([a-z]+_)?rngs?$"
)
# Numbers that say how large arrays are, whatever type is written behind them
SIZES = re.compile(r"(^|_)(sizes?|shape|dims?|num|number|length|width|depth|axis)(_|$)|^n_|_(n|count|steps)$")
ON_DEVICE = ("jax.numpy.", "numpy.", "jax.random.", "flax.jax_utils.", "flax.training.common_utils.")
OBJECTS = frozenset({"self", "cls"})  # of the program's classes, whatever a call of one of them shows


class Shifted(NamedTuple):
    """Where something is static that should not be, or is not and should be, and why."""

    module: Module
    node: ast.expr
    message: str


def shifted(facts: Facts) -> Iterator[Shifted]:
    """Static positions of pmaps that hold arrays, and mapped ones that are given what is no array."""
    jitted: dict[Function, list[tuple[Application, tuple[int, ...]]]] | None = None
    for found in facts.all_maps:
        if found.name not in PMAPS or found.within is not None:
            continue
        given = found.keyword(STATIC, 3)
        numbers = _numbers(given, facts)
        if numbers is None:
            continue
        one = _found(found, given, numbers, facts)
        if one is None and given is not None and numbers:
            jitted = _of_jits(facts) if jitted is None else jitted
            one = _unlike_jit(found, given, numbers, jitted) or _within(found, given, numbers, facts)
        if one is not None:
            yield one


def _numbers(given: Argument | None, facts: Facts) -> tuple[int, ...] | None:
    """The positions that are static; None where they are not known."""
    if given is None:
        return ()
    listed = given.expression
    if isinstance(listed, ast.List):
        each = [facts.resolver.literal(Argument(None, one, given.module)) for one in listed.elts]
        return tuple(one for one in each if isinstance(one, int)) if all(isinstance(n, int) for n in each) else None
    content = facts.resolver.literal(given)
    content = content if isinstance(content, tuple) else (content,)
    return content if all(isinstance(one, int) for one in content) else None


def _of_jits(facts: Facts) -> dict[Function, list[tuple[Application, tuple[int, ...]]]]:
    """The static positions of the jits of each function, as where a program runs it on one device, too."""
    found: dict[Function, list[tuple[Application, tuple[int, ...]]]] = {}
    for module in facts.modules:
        if "static_argnums" in module.text and "pmap" in module.text:
            for call in module.table.calls:
                if any(k.arg == "static_argnums" for k in call.keywords):
                    made = facts.resolver.value(call, module)
                    mapped = argument(made.arguments, 0, "fun") if isinstance(made, Application) else None
                    values = facts.resolver.argument_values(mapped) if mapped is not None else ()
                    numbers = _static_of_jit(made, facts)
                    if (
                        numbers
                        and len(values) == 1
                        and isinstance(made, Application)
                        and isinstance(values[0], Function)
                    ):
                        found.setdefault(values[0], []).append((made, numbers))
    return found


def _static_of_jit(made: Value, facts: Facts) -> tuple[int, ...]:
    """The static positions of a jit, none where they are not known or it is something else."""
    if not isinstance(made, Application) or not isinstance(made.callee, External) or made.callee.name not in JITS:
        return ()
    return _numbers(argument(made.arguments, None, "static_argnums"), facts) or ()


def _unlike_jit(
    found: DeviceMap,
    given: Argument,
    numbers: tuple[int, ...],
    jitted: dict[Function, list[tuple[Application, tuple[int, ...]]]],
) -> Shifted | None:
    """A jit of the same function that has as many static positions, but others."""
    for _, others in jitted.get(found.function, ()) if found.mapped is found.function else ():
        if len(others) == len(numbers) and sorted(others) != sorted(numbers) and given.expression is not None:
            name = getattr(found.function.node, "name", "the function")
            message = f"{STATIC}: {_listed(numbers)} here, but {_listed(others)} where {name} is jitted"
            return Shifted(given.module, given.expression, message)
    return None


def _within(found: DeviceMap, given: Argument, numbers: tuple[int, ...], facts: Facts) -> Shifted | None:
    """A jit that a pmap maps, with a static argument that the pmap traces."""
    inner = _static_of_jit(found.mapped, facts)
    traced = [n for n in inner if n not in numbers]
    if not traced or given.expression is None:
        return None
    names = found.parameters()
    what = f"{names[traced[0]]}, argument {traced[0]}," if traced[0] < len(names) else f"argument {traced[0]}"
    message = f"{STATIC}: {what} is static in the jit that is mapped, but not here, where it is traced; name the same"
    return Shifted(given.module, given.expression, message)


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))


def _found(found: DeviceMap, given: Argument | None, numbers: tuple[int, ...], facts: Facts) -> Shifted | None:
    names = found.parameters()
    plain = found.mapped is found.function or (isinstance(found.mapped, Partial) and bool(numbers))
    if not plain or found.function.node.args.vararg is not None:
        return None
    place = given.expression if given is not None else None
    given_before = {a.keyword for a in found.mapped.arguments} if isinstance(found.mapped, Partial) else set()
    by_name = [one for one in found.function.node.args.kwonlyargs if one.arg not in given_before]
    beyond = [n for n in numbers if n >= len(names) + len(by_name)]
    if beyond and names and place is not None and given is not None:
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
    asked = _asked(found, numbers, facts) if numbers else None
    if asked is not None and place is not None and given is not None:
        message = f"{STATIC}: {asked}, argument {names.index(asked)}, is asked about while it is traced, and cannot be"
        return Shifted(given.module, place, f"{message}: it is to be static; count the positions again")
    return None


def _asked(found: DeviceMap, numbers: tuple[int, ...], facts: Facts) -> str | None:
    """A parameter that is not static, and that the function takes for a flag, a word or a number of rounds."""
    function = found.function
    for number, name in enumerate(found.parameters()):
        if number not in numbers and name not in OBJECTS and is_of_host_for(function.node, name, function.module):
            passed = {n for _, _, n in facts.given_to(found)}
            if not passed or number in passed:
                return name
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
    function = found.function
    kind = annotated(function.node, name)
    if HOST_TYPES.match(kind) or kind in NUMBERS:
        return False
    if is_configuration(function.node, name, function.module, facts.resolver):
        return False
    if isinstance(dict(defaults_of(function.node.args)).get(name), ast.Constant):
        return False
    given = [(node, module) for node, module, n in facts.given_to(found) if n == number]
    if SIZES.search(name):
        return any(_is_made_array(node, module, facts) for node, module in given)
    if not given:
        return is_array_for(function.node, name, function.module, facts.resolver)
    if any(_is_host_value(node, module, facts) for node, module in given):
        return False
    if any(_is_made_array(node, module, facts) for node, module in given):
        return True
    return ARRAYS.search(name) is not None or is_array_for(function.node, name, function.module, facts.resolver)


def _is_host_value(node: ast.expr, module: Module, facts: Facts) -> bool:
    """Whether an argument is a constant, a function or a plain object of the program's."""
    value = facts.resolver.value(node, module)
    plain = isinstance(value, Instance) and is_plain(value.cls, facts.resolver)
    return plain or isinstance(node, ast.Constant | ast.Lambda) or isinstance(value, Constant | Function)


def _is_made_array(node: ast.expr, module: Module, facts: Facts) -> bool:
    """Whether an argument is an array for certain: made by a function of arrays, or with a slice for each device."""
    axis = facts.device_axes.followed(node, module)
    if axis is not None and "from_pretrained" not in ast.unparse(axis.node):  # which makes objects as well
        return True
    callee = facts.resolver.value(node.func, module) if isinstance(node, ast.Call) else None
    return isinstance(callee, External) and callee.name.startswith(ON_DEVICE)
