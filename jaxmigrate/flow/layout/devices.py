"""Functions that run on devices, inside a map or a transformation: what they capture there is not followed."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.values import NOTHING, Abstract, Func, same
from jaxmigrate.program.values import Function


def map_more(it: Interpreter, site: ast.expr, value: Abstract, frame: Frame) -> None:
    """A site maps one more function."""
    before = it.mapped.get(site, NOTHING)
    it.mapped[site] = it.join(before, value, site, frame.module)
    if not same(before, it.mapped[site]):
        it.touch(("site", site))


def on_device(it: Interpreter, value: Abstract) -> None:
    """Functions in a value run inside a map or a transformation: what they capture is not followed."""
    if not isinstance(value, Func):
        return
    for item in value.in_order():
        if isinstance(item, Function):
            enter_device(it, item)


def enter_device(it: Interpreter, function: Function) -> None:
    """A function and all that it calls runs on devices."""
    pending = [function]
    while pending:
        one = pending.pop()
        if one.node in it.device:
            continue
        it.device.add(one.node)
        it.changed = True
        it.units.pop(one.node, None)
        for child in ast.walk(one.node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                pending.append(Function(one.module, child))
            elif isinstance(child, ast.Name | ast.Attribute) and child in one.module.table.scope_of:
                pending += [v for v in it.resolver.values(child, one.module) if isinstance(v, Function)]
