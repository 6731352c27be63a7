"""Maps that only one process can call: they are given a row for each device of all processes.

`jax.pmap` takes a row for each device of its own process, so that with several processes such a call raises. Nothing is
to be said for these then.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxmigrate.migrate.one_device import calls_of, hides_arguments
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.sites import MappedSite, literal_of
from jaxmigrate.program.values import External, Function

COUNT = External("jax.device_count")
TREE_MAPS = named("tree-map")
SPLIT = External("jax.random.split")
RESHAPES = frozenset({"jax.numpy.reshape", "numpy.reshape"})
DEEPEST = 6


def is_of_one_process(site: MappedSite, resolver: Resolver) -> bool:
    """Whether every call of a map in sight gives it an array with a row for each device of all processes."""
    axes = literal_of(site, "in_axes", 0, resolver)
    if site.keyword("devices") is not None or not (axes == 0 or isinstance(axes, tuple)):
        return False
    calls = calls_of(site, resolver)
    return (
        bool(calls)
        and not hides_arguments(site, resolver)
        and all(_gives_rows_of_all(call, axes, module, resolver) for call, module in calls)
    )


def _gives_rows_of_all(call: ast.Call, axes: object, module: Module, resolver: Resolver) -> bool:
    if any(isinstance(one, ast.Starred) for one in call.args):
        return False
    mapped = [one for i, one in enumerate(call.args) if not isinstance(axes, tuple) or axes[i : i + 1] == (0,)]
    return any(_has_rows(one, module, resolver, 0) for one in mapped)


def _has_rows(node: ast.expr, module: Module, resolver: Resolver, depth: int) -> bool:
    """Whether all arrays of a value have a row for each device of all processes."""
    if depth > DEEPEST:
        return False
    if isinstance(node, ast.Name):
        value = _last_value(node, module)
        return value is not None and _has_rows(value, module, resolver, depth + 1)
    if not isinstance(node, ast.Call):
        return False
    called = resolver.value(node.func, module)
    if isinstance(called, Function):
        return _returns_rows(called, resolver, depth)
    name = called.name if isinstance(called, External) else ""
    if name in TREE_MAPS and node.args:
        fun = resolver.value(node.args[0], module)
        return isinstance(fun, Function) and _returns_rows(fun, resolver, depth)
    sizes: Sequence[ast.expr] = ()
    if called == SPLIT:
        sizes = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "num")]
    elif name in RESHAPES:
        sizes = node.args[1:]
    elif isinstance(node.func, ast.Attribute) and node.func.attr == "reshape":
        sizes = node.args
    return bool(sizes) and _is_count(_first(sizes[0]), module, resolver)


def _last_value(name: ast.Name, module: Module) -> ast.expr | None:
    """What a name was assigned last where it is read, on whatever way the code came there; None where that differs."""
    table = module.table
    statement: ast.AST | None = table.statement_of(name)
    while isinstance(statement, ast.stmt) and not isinstance(statement, FunctionNode | ast.ClassDef):
        block = table.block_of(statement)
        for one in reversed(block[: block.index(statement)]):
            if _binds(one, name.id):
                plain = isinstance(one, ast.Assign) and all(isinstance(t, ast.Name) for t in one.targets)
                return one.value if isinstance(one, ast.Assign) and plain else None
        parent = table.parents.get(statement)
        if isinstance(parent, ast.stmt) and not isinstance(parent, FunctionNode) and _binds(parent, name.id):
            return None
        statement = parent
    return None


def _binds(statement: ast.stmt, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
        for node in ast.walk(statement)
    )


def _returns_rows(function: Function, resolver: Resolver, depth: int) -> bool:
    """Whether a function that is one return, or a lambda, gives such rows."""
    body = function.node.body
    value = body if isinstance(body, ast.expr) else None
    if isinstance(body, list) and isinstance(body[-1], ast.Return) and not _leaves_before(body[:-1]):
        value = body[-1].value
    return value is not None and _has_rows(value, function.module, resolver, depth + 1)


def _leaves_before(statements: Sequence[ast.stmt]) -> bool:
    return any(isinstance(node, ast.Return | ast.Yield | ast.YieldFrom) for s in statements for node in ast.walk(s))


def _first(shape: ast.expr) -> ast.expr:
    """The first size of a shape: of `(n, -1) + sizes` and `(n, *sizes)` too."""
    while isinstance(shape, ast.BinOp) and isinstance(shape.op, ast.Add):
        shape = shape.left
    return shape.elts[0] if isinstance(shape, ast.Tuple | ast.List) and shape.elts else shape


def _is_count(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether a value is the number of devices of all processes."""
    if isinstance(node, ast.Name):
        found = resolver.bindings_at(node, module)
        value = found[0].value if len(found) == 1 and found[0].kind == "assign" and not found[0].path else None
        return value is not None and not isinstance(value, ast.Name) and _is_count(value, module, resolver)
    return (
        isinstance(node, ast.Call) and not (node.args or node.keywords) and resolver.value(node.func, module) == COUNT
    )
