"""Keys that a mapped function draws by twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.stale_keys import ORDERING, key_given
from jaxmigrate.flow.unchanging import DRAWS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import calls_of
from jaxmigrate.program.values import External

LEAVING = ast.Return | ast.Raise | ast.Continue | ast.Break


class Twice(NamedTuple):
    """Two draws of a function by one key."""

    module: Module
    first: ast.Call
    second: ast.Call


def drawn_twice(facts: Facts) -> Iterator[Twice]:
    """Two draws, one after the other, by a key to which nothing is assigned in between."""
    functions: dict[ast.AST, Module] = {}
    for _, reading in facts.readings:
        for draw in reading.draws:
            function: ast.AST | None = draw.module.table.function_of(draw.node)
            if isinstance(function, ast.FunctionDef) and not draw.module.is_test:
                functions[function] = draw.module
    for function, module in functions.items():
        assert isinstance(function, ast.FunctionDef)
        last: dict[str, ast.Call] = {}
        for call in sorted(_draws(function, module, facts), key=lambda c: (c.lineno, c.col_offset)):
            key = key_given(call)
            name = _root(key)
            if key is None or name is None:
                continue
            first = last.get(ast.unparse(key))
            last[ast.unparse(key)] = call
            if first is None or not _both_run(first, call, module):
                continue
            if not _is_bound_between(name, first, call, module):
                yield Twice(module, first, call)


def _draws(function: ast.FunctionDef, module: Module, facts: Facts) -> Iterator[ast.Call]:
    """The draws of a function itself, but for those that put rows into an order."""
    for call in calls_of(function):
        if module.table.function_of(call) is function:
            callee = facts.resolver.value(call.func, module)
            if isinstance(callee, External) and callee.name in DRAWS and callee.name not in ORDERING:
                yield call


def _root(key: ast.expr | None) -> ast.Name | None:
    """The name of a key, or of the keys of which it is one by its number."""
    match key:
        case ast.Name():
            return key
        case ast.Subscript(value=ast.Name() as name, slice=ast.Constant()):
            return name
    return None


def _is_bound_between(name: ast.Name, first: ast.Call, second: ast.Call, module: Module) -> bool:
    """Whether a name may stand for something else at the second of two calls."""
    holder = module.table.scope_of[name].lookup(name.id)
    bindings = holder.bindings[name.id] if holder is not None else []
    lines = [getattr(one.node, "lineno", 0) for one in bindings]
    return any(first.lineno <= line <= second.lineno for line in lines)


def _both_run(first: ast.Call, second: ast.Call, module: Module) -> bool:
    """Whether a run of the function reaches both calls: they stand in no two ways of a branch."""
    parents = module.table.parents
    above: dict[ast.AST, ast.AST] = {}
    node: ast.AST = first
    while node in parents:
        above[parents[node]] = node
        node = parents[node]
    node = second
    while node in parents and parents[node] not in above:
        node = parents[node]
    common = parents.get(node)
    if common is None:
        return False
    if isinstance(common, ast.If | ast.IfExp | ast.Try | ast.Match):
        return False
    current: ast.AST = first
    while parents[current] is not common:
        current = parents[current]
        if isinstance(current, ast.If | ast.match_case) and any(isinstance(one, LEAVING) for one in ast.walk(current)):
            return False
    return True
