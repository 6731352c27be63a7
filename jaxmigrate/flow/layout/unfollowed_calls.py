"""Calls of helpers that are taken for what they do, without following them: `shard(batch)` splits a batch.

Such a call is rewritten where it stands. Where it stays as it is, it runs the helper's own code, which then has to
stay as well, although other calls are followed there: `map(shard, batches)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Literal

from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.values import Abstract, Func, Nothing
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.values import Application, Function, Value


def note(it: Interpreter, node: ast.expr, functions: Iterable[Function]) -> None:
    """Notes that an expression runs some functions that are not followed there."""
    known = it.operations.unfollowed.setdefault(node, {})
    for function in functions:
        if function.node not in known:
            known |= dict.fromkeys(run_by(it, function))
            it.changed = True


def note_value(it: Interpreter, node: ast.expr, value: Abstract) -> None:
    """The same of the functions in a value."""
    items = value.in_order() if isinstance(value, Func) else ()
    note(it, node, (one for one in items if isinstance(one, Function)))


def note_named(it: Interpreter, node: ast.Call, module: Module) -> None:
    """The same of a call, of what it calls and is given by name: `jax.tree.map(first, state)`."""
    named = (one for one in (node.func, *node.args) if one in module.table.scope_of)
    note(it, node, (f for one in named for value in it.resolver.values(one, module) for f in _functions_in(it, value)))


def note_callee(it: Interpreter, node: ast.expr, callee: Abstract, how: Literal["calls", "applies"] = "calls") -> None:
    """Notes what an expression calls, or applies to parts: in one call of the function around it, and in all others."""
    if not isinstance(callee, Nothing):
        known = it.operations.callees.setdefault((node, how), set())
        known |= callee.items if isinstance(callee, Func) else {type(callee)}


def enclosing(node: ast.AST, module: Module) -> Iterator[FunctionNode]:
    """The functions that a node stands in, from the inside."""
    above = module.table.parents.get(node)
    while above is not None:
        if isinstance(above, FunctionNode):
            yield above
        above = module.table.parents.get(above)


@once
def _known(_it: Interpreter) -> dict[FunctionNode, list[FunctionNode]]:
    """What functions run, by function."""
    return {}


def run_by(it: Interpreter, function: Function) -> list[FunctionNode]:
    """A function and those of the project that it names, and so on."""
    known = _known(it)
    if function.node not in known:
        found, pending = dict[FunctionNode, None](), [function]
        while pending:
            one = pending.pop()
            if one.node not in found:
                found[one.node] = None
                names = (n for n in ast.walk(one.node) if isinstance(n, ast.Name | ast.Attribute))
                values = (v for n in names if n in one.module.table.scope_of for v in it.resolver.values(n, one.module))
                pending += (inner for value in values for inner in _functions_in(it, value))
        known[function.node] = [*found]
    return known[function.node]


def _functions_in(it: Interpreter, value: Value) -> list[Function]:
    """The function that a value is, or that a decorator was put on."""
    if isinstance(value, Function):
        return [value]
    if not isinstance(value, Application):
        return []
    return [one for given in value.arguments for one in it.resolver.argument_values(given) if isinstance(one, Function)]
