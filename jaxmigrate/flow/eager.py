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
from jaxmigrate.program.syntax import calls_of, last_name
from jaxmigrate.program.values import External, Function

RUNNERS = named("runs-main")
CLOCKS = named("clock") - {"datetime.datetime.now"}
CLOCK_NAMES = frozenset(name.rpartition(".")[2] for name in CLOCKS)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def eager_calls(module: Module, resolver: Resolver) -> dict[ast.Call, bool]:
    """The calls of a module that certainly run outside every transformation, and whether they do more than once.

    Those of a loop do, and those of which the time is taken.
    """
    found: dict[ast.Call, bool] = {}
    started: dict[FunctionNode, bool] = {}
    timed: dict[ast.AST | None, bool] = {}
    pending = [(call, False) for call in module.table.calls if is_top_level(call, module)]
    while pending:
        call, again = pending.pop(0)
        around = module.table.function_of(call)
        if around not in timed:
            timed[around] = _is_timed(around, module, resolver)
        again = again or timed[around] or _is_in_loop(call, module)
        found[call] = again or found.get(call, False)
        for value in _called(call, module, resolver):
            if value.module is module and (value.node not in started or (again and not started[value.node])):
                started[value.node] = again
                pending += ((one, again) for one in calls_of(value.node))
    return found


def _is_in_loop(node: ast.AST, module: Module) -> bool:
    """Whether a loop or a comprehension of the same function runs an expression in each of its rounds."""
    parents = module.table.parents
    while (above := parents.get(node)) is not None and not isinstance(above, SCOPES):
        match above:
            case ast.For(body=body) | ast.AsyncFor(body=body) if node in body:
                return True
            case ast.While(test=test, body=body) if node is test or node in body:
                return True
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                if node is not above.generators[0]:
                    return True
        node = above
    return False


def _is_timed(around: FunctionNode | None, module: Module, resolver: Resolver) -> bool:
    """Whether a function, or a script for None, reads a clock; cells of a notebook do not count."""
    if not any(name in module.text for name in CLOCK_NAMES) or (around is None and module.path.suffix == ".ipynb"):
        return False
    calls = calls_of(around) if around is not None else (c for c in module.table.calls if is_top_level(c, module))
    clocks = [one for one in calls if last_name(one.func) in CLOCK_NAMES]
    values = (resolver.value(one.func, module) for one in clocks)
    return any(isinstance(one, External) and one.name in CLOCKS for one in values)


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
