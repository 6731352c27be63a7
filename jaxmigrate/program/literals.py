"""Literals with names in them: `(0,) * n_state + (None,)`, `[*BATCH_AXES, "model"]`, `list(range(1, 4))`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from jaxmigrate.program.modules import Module
from jaxmigrate.program.values import Constant, External, Value

MOST_COPIES = 64  # of the elements of a literal
ValueOf = Callable[[ast.expr, Module], Value]


def literal_of(node: ast.expr, module: Module, value_of: ValueOf) -> object:
    """The literal that an expression is or stands for, `...` where it is only known at run time."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        found = value_of(node, module)
        if isinstance(found, Constant):
            return found.value
        match node:
            case ast.BinOp():
                return _joined(node, module, value_of)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return _listed(elements, module, value_of, kept=type(node) is ast.List)
        return _ranged(node, module, value_of)


def _listed(elements: Sequence[ast.expr], module: Module, value_of: ValueOf, *, kept: bool) -> object:
    """What stands in a tuple or list with names in it, and other tuples spread; `...` where some is not known."""
    found: list[object] = []
    for one in elements:
        said = literal_of(one.value if isinstance(one, ast.Starred) else one, module, value_of)
        if said is ... or (isinstance(one, ast.Starred) and not isinstance(said, list | tuple)):
            return ...
        found += said if isinstance(one, ast.Starred) and isinstance(said, list | tuple) else [said]
    return found if kept else tuple(found)


def _joined(node: ast.BinOp, module: Module, value_of: ValueOf) -> object:
    """The elements of `(0,) * 5 + (None,)`, `...` for anything else."""
    parts = [literal_of(one, module, value_of) for one in (node.left, node.right)]
    match node.op, parts:
        case ast.Add(), [tuple(left), tuple(right)]:
            return left + right
        case ast.Add(), [list(left), list(right)]:
            return left + right
        case ast.Mult(), [tuple(left), int(count)] if count <= MOST_COPIES:
            return left * count
        case ast.Mult(), [list(left), int(count)] if count <= MOST_COPIES:
            return left * count
    return ...


def _ranged(node: ast.expr, module: Module, value_of: ValueOf) -> object:
    """The numbers of `list(range(1, 4))`, `...` for anything else."""
    match node:
        case ast.Call(func=outer, args=[ast.Call(func=inner, args=[*bounds], keywords=[])], keywords=[]):
            made, ranged = value_of(outer, module), value_of(inner, module)
            numbers = [one.value for one in bounds if isinstance(one, ast.Constant) and type(one.value) is int]
            known = isinstance(made, External) and made.name in ("builtins.list", "builtins.tuple")
            if known and ranged == External("builtins.range") and len(numbers) == len(bounds) in (1, 2):
                return [*range(*numbers)]
    return ...
