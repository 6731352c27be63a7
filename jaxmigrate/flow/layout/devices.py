"""Functions that run on devices, inside a map or a transformation: what they capture there is not followed."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.values import NOTHING, Abstract, Func, same
from jaxmigrate.program.library import starting
from jaxmigrate.program.modules import Module
from jaxmigrate.program.values import Application, External, Function, Member, Value

OF_HOST = starting("of-host")


def map_more(it: Interpreter, site: ast.expr, value: Abstract, frame: Frame) -> None:
    """A site maps one more function."""
    before = it.maps.mapped.get(site, NOTHING)
    it.maps.mapped[site] = it.join(before, value, site, frame.module)
    if not same(before, it.maps.mapped[site]):
        it.touch(("site", site))


def on_device(it: Interpreter, value: Abstract) -> None:
    """Functions in a value run inside a map or a transformation: what they capture is not followed."""
    if not isinstance(value, Func):
        return
    for item in value.in_order():
        if isinstance(item, Function):
            enter_device(it, item)


def is_of_host(it: Interpreter, decorator: ast.expr, module: Module) -> bool:
    """Whether what a decorator is put on runs on the host: it is of a library that starts programs, or runs tests.

    It may be a method of an object of such a library: `@experiment.automain`.
    """
    made = decorator.func if isinstance(decorator, ast.Call) else decorator
    value: Value = it.resolver.value(made, module)
    while isinstance(value, Application | Member):
        value = value.callee if isinstance(value, Application) else value.owner
    return isinstance(value, External) and value.name.startswith(OF_HOST)


def enter_device(it: Interpreter, function: Function) -> None:
    """A function and all that it calls runs on devices."""
    pending = [function]
    while pending:
        one = pending.pop()
        if one.node in it.bodies.device:
            continue
        it.bodies.device.add(one.node)
        it.changed = True
        it.bodies.units.pop(one.node, None)
        for child in ast.walk(one.node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                pending.append(Function(one.module, child))
            elif isinstance(child, ast.Name | ast.Attribute) and child in one.module.table.scope_of:
                for value in it.resolver.values(child, one.module):
                    pending += _functions_in(it, value)


def _functions_in(it: Interpreter, value: Value) -> list[Function]:
    """The function that a value is, or that a decorator which leaves it as it is was put on."""
    if isinstance(value, Function):
        return [value]
    if not isinstance(value, Application) or isinstance(value.callee, Function):
        return []
    return [one for given in value.arguments for one in it.resolver.argument_values(given) if isinstance(one, Function)]
