"""Lists of devices: whether one holds all devices that pmap uses by default, and nothing changes it."""

from __future__ import annotations

import ast
from typing import Literal

from jaxmigrate.flow.layout import aliases
from jaxmigrate.flow.layout.aliases import Alias
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Application, Argument, Constant, External, Parameter, Value, Values

Whose = Literal["any", "every", "own"]  # of several processes: whichever, those of all of them, those of this one
DEVICES = named("devices")
LOCAL = named("of-processes")
COPIES = frozenset({"builtins.list", "builtins.tuple"})
NAMES = frozenset({"devices", "list", "local_devices", "tuple"})
DEFAULT_BACKEND = "jax.default_backend"


def is_all(value: Value, resolver: Resolver) -> bool:
    """Whether a value is the list of all devices: `jax.devices()`, or a copy of it, to which nothing is done.

    A list is changed where one of its names is, in any module, or where a function is given it that changes what it is
    given.
    """
    made = _made(value, resolver)
    return made is not None and not any(_is_changed(one, resolver) for one in made)


def are_all(values: Values, resolver: Resolver, whose: Whose = "any") -> bool:
    """Whether values of one expression are such lists, those of parameters being what their callers pass.

    None among them is no list: it gives way to one in `devices or jax.devices()`, or raises. Where only a process's own
    count, it may stand for all devices.
    """
    given = [v for one in values for v in (_passed(one, resolver) if isinstance(one, Parameter) else (one,))]
    lists = [one for one in given if one != Constant(None) or whose == "own"]
    return bool(lists) and all(is_all(one, resolver) and _is_of(one, resolver, whose) for one in lists)


def _is_of(value: Value, resolver: Resolver, whose: Whose) -> bool:
    return whose == "any" or _is_local(value, resolver) == (whose == "own")


def _is_local(value: Value, resolver: Resolver) -> bool:
    """Whether a list of all devices has only those of this process."""
    made = _made(value, resolver) or []
    names = (resolver.value(call.func, module) for call, module in made if isinstance(call, ast.Call))
    return any(isinstance(one, External) and one.name in LOCAL for one in names)


def _passed(parameter: Parameter, resolver: Resolver) -> Values:
    return callers_of(resolver).passed(parameter)


def is_made_of_all(value: Value, resolver: Resolver) -> bool:
    """Whether a value is the list of all devices, or a copy of it, whatever is done to it later."""
    return _made(value, resolver) is not None


def changes_devices(module: Module, resolver: Resolver) -> bool:
    """Whether a program changes a list of all devices that a module makes."""
    calls = module.table.calls if "devices" in module.text else ()
    return any(
        _is_changed((call, module), resolver)
        for call in calls
        if last_name(call.func) in NAMES and _made(resolver.value(call, module), resolver) is not None
    )


def _made(value: Value, resolver: Resolver) -> list[tuple[ast.expr, Module]] | None:
    """The calls that a list of all devices comes from; None for anything else."""
    if not isinstance(value, Application) or not isinstance(value.callee, External):
        return None
    here = (value.node, value.module)
    if value.callee.name in DEVICES:
        return [here] if all(_is_default(one, resolver) for one in value.arguments) else None
    if value.callee.name in COPIES and len(value.arguments) == 1:
        values = resolver.argument_values(value.arguments[0])
        inner = _made(values[0], resolver) if len(values) == 1 else None
        return [here, *inner] if inner is not None else None
    return None


def _is_default(argument: Argument, resolver: Resolver) -> bool:
    """Whether an argument of `jax.devices` asks for what it gives without one: `backend=None`."""
    if argument.keyword not in (None, "backend"):
        return False
    values = resolver.argument_values(argument)
    return all(one == Constant(None) or _asks_default(one) for one in values)


def _asks_default(value: Value) -> bool:
    return isinstance(value, Application) and value.callee == External(DEFAULT_BACKEND) and not value.arguments


@once_each
def _is_changed(made: tuple[ast.expr, Module], resolver: Resolver) -> bool:
    """Whether a list that a call of a module makes may be changed later, under a name that it gets.

    Nothing gets it where a loop takes its devices from it one by one.
    """
    node, module = made
    parent = module.table.parents.get(node)
    if isinstance(parent, ast.For | ast.comprehension) and parent.iter is node:
        return False
    return aliases.change(aliases.named_by(*made), resolver)


@once_each
def may_change(name: str, resolver: Resolver) -> bool:
    """Whether a program changes in place what goes by a name."""
    return aliases.change({Alias(name)}, resolver)
