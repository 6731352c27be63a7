"""Which code certainly runs outside every transformation: what a module runs when it is started, and what that calls.

A function that such code calls plainly runs eagerly at least that once, whatever else calls it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.syntax import calls_of
from jaxmigrate.program.values import External, Function

RUNNERS = named("runs-main")


def eager_calls(module: Module, resolver: Resolver) -> Iterator[ast.Call]:
    """The calls of a module that certainly run outside every transformation."""
    pending = [call for call in module.table.calls if is_top_level(call, module)]
    seen: set[FunctionNode] = set()
    while pending:
        call = pending.pop(0)
        yield call
        for value in _called(call, module, resolver):
            if value.module is module and value.node not in seen:
                seen.add(value.node)
                pending += calls_of(value.node)


def is_top_level(node: ast.AST, module: Module) -> bool:
    """Whether an expression is evaluated as its module is, be it in a class or under a condition."""
    scope = module.table.scope_of.get(node)
    return scope is not None and scope.function() is None


def _called(call: ast.Call, module: Module, resolver: Resolver) -> Iterator[Function]:
    value = resolver.value(call.func, module)
    if isinstance(value, Function):
        yield value
    elif isinstance(value, External) and value.name in RUNNERS and call.args:
        started = resolver.value(call.args[0], module)
        if isinstance(started, Function):
            yield started
