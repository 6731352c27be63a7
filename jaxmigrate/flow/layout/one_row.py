"""Arrays that evidently have a leading axis of one row, so that a map of them runs on one device."""

from __future__ import annotations

import ast

from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name


def has_one_row(place: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether an argument is `x[None]`, or a tree of that, as it is written there or above."""
    values = [place]
    if isinstance(place, ast.Name):
        values = [b.value for b in resolver.bindings_at(place, module) if b.value is not None and not b.path]
    return any(_is_one(value) for value in values)


def _is_one(value: ast.expr) -> bool:
    match value:
        case ast.Subscript(slice=ast.Tuple(elts=[first, *_]) | first):
            return _is_new(first)
        case ast.Call(func=func, args=[ast.Lambda(body=body), *_]) if last_name(func) in ("map", "tree_map"):
            return _is_one(body)
        case ast.Call(func=func, args=args):
            name = last_name(func)
            if name == "expand_dims":
                axes = [*args[1:2], *(k.value for k in value.keywords if k.arg == "axis")]
                return any(_is_number(axis, 0) for axis in axes)
            sizes = args[1:] if _is_function(func) else args
            if name == "reshape" and sizes:
                sizes = sizes[0].elts if isinstance(sizes[0], ast.Tuple | ast.List) else sizes
                return bool(sizes) and _is_number(sizes[0], 1)
    return False


def _is_new(node: ast.expr) -> bool:
    return last_name(node) == "newaxis" or (isinstance(node, ast.Constant) and node.value is None)


def _is_number(node: ast.expr, number: int) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == number


def _is_function(func: ast.expr) -> bool:
    """Whether it is NumPy's or JAX's function, and no method of an array."""
    return isinstance(func, ast.Attribute) and last_name(func.value) in ("np", "jnp", "numpy", "onp")
