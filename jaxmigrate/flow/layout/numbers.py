"""Outputs of mapped functions that are evidently one number: no axis of theirs can be split over the devices."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from jaxmigrate.flow.layout import mapped_bodies
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import External, Function, Value

WRAPPERS = named("same-call")  # without vmap, which makes arrays of numbers
# Of all axes, if none is named.
REDUCTIONS = frozenset({"all", "any", "max", "mean", "min", "prod", "std", "sum", "var"})
FUNCTIONS = REDUCTIONS | {"amax", "amin", "linalg.norm", "median", "nanmean", "nansum", "vdot"}
ONE_BY_ONE = frozenset({"abs", "array", "asarray", "exp", "float32", "int32", "log", "log10", "sqrt", "square"})
COLLECTIVES = named("averages")
AXES = frozenset({"axis", "keepdims"})


def gives_number(value: Value, place: Sequence[int | str], resolver: Resolver) -> bool:
    """Whether what a function returns, or its part at a place, is evidently one number somewhere."""
    function = mapped_bodies.unwrapped(value, resolver, WRAPPERS)
    if not isinstance(function, Function):
        return False
    deepest = mapped_bodies.DEEPEST
    module = function.module
    returned = (e for one in returned_by(function.node) for e in _elements(one, place, module, resolver, deepest))
    return any(_is_number(one, module, resolver, deepest) for one in returned)


def is_number(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether an expression is evidently one number."""
    return _is_number(node, module, resolver, mapped_bodies.DEEPEST)


def _elements(
    node: ast.expr | None, place: Sequence[int | str], module: Module, resolver: Resolver, depth: int
) -> Iterator[ast.expr]:
    """What stands at a place of what may be returned, as far as that shows."""
    match node:
        case None:
            return
        case _ if not place:
            yield node
        case ast.Tuple(elts=elements):
            if isinstance(place[0], int) and place[0] < len(elements):
                yield from _elements(elements[place[0]], place[1:], module, resolver, depth)
        case ast.Name() if depth > 0 and node in module.table.scope_of:
            for binding in resolver.bindings(node.id, module.table.scope_of[node]):
                if binding.kind == "assign" and not binding.path:
                    yield from _elements(binding.value, place, module, resolver, depth - 1)


def _is_number(node: ast.expr | None, module: Module, resolver: Resolver, depth: int) -> bool:
    def is_number(one: ast.expr | None) -> bool:
        return depth > 0 and _is_number(one, module, resolver, depth - 1)

    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float)
        case ast.UnaryOp(operand=operand):
            return is_number(operand)
        case ast.BinOp(left=left, right=right):
            return is_number(left) and is_number(right)
        case ast.Name() if node in module.table.scope_of:
            bindings = resolver.bindings(node.id, module.table.scope_of[node])
            return bool(bindings) and all(b.kind == "assign" and not b.path and is_number(b.value) for b in bindings)
        case ast.Call(func=func, args=args, keywords=keywords) if AXES.isdisjoint(k.arg for k in keywords):
            callee = resolver.value(func, module)
            name = callee.name if isinstance(callee, External) else ""
            if name:
                inner = name.removeprefix("jax.numpy.") if name.startswith("jax.numpy.") else ""
                if inner in FUNCTIONS:
                    return len(args) == 1 + (inner == "vdot")
                return (inner in ONE_BY_ONE or name in COLLECTIVES) and bool(args) and is_number(args[0])
            return isinstance(func, ast.Attribute) and func.attr in REDUCTIONS and not args
    return False
