"""How many dimensions arrays of host code have, as far as it says so."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout.raw_keys import rank_of_keys
from jaxmigrate.flow.layout.shape_texts import shape_given
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, External

CONSTANTS = named("constant")
HOMES = ("jax.numpy", "numpy")
OF_ONE = frozenset({"arange", "geomspace", "linspace", "logspace"})  # of numbers
ARRAYS = frozenset({"array", "asarray"})
DRAWS = frozenset({"integers", "normal", "rand", "randint", "randn", "random", "standard_normal", "uniform"})
DEEPEST = 8


def rank_of(node: ast.expr, module: Module, resolver: Resolver, depth: int = DEEPEST) -> int | None:
    """How many dimensions an array has for certain; None where that does not show."""
    if keys := rank_of_keys(node, module, resolver):
        return keys
    if depth == 0:
        return None
    match node:
        case ast.Constant(value=int() | float()):
            return 0
        case ast.List(elts=[first, *_]) | ast.Tuple(elts=[first, *_]):
            inner = rank_of(first, module, resolver, depth - 1)
            return inner + 1 if inner is not None else None
        case ast.BinOp(left=left, right=right):
            both = [rank_of(one, module, resolver, depth - 1) for one in (left, right)]
            return max(one for one in both if one is not None) if None not in both else None
        case ast.Call(func=ast.Attribute(value=owner, attr="astype" | "copy")):
            return rank_of(owner, module, resolver, depth - 1)
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in DRAWS and _is_numpys(
            owner, module, resolver
        ):
            return _of_draw(node, name)
        case ast.Subscript(value=owner, slice=index):
            whole = rank_of(owner, module, resolver, depth - 1)
            indices = index.elts if isinstance(index, ast.Tuple) else [index]
            changes = [_change(one, module, resolver) for one in indices]
            return None if whole is None or None in changes else whole + sum(one for one in changes if one is not None)
        case ast.Call():
            return _of_call(node, module, resolver, depth)
        case ast.Name() if node in module.table.scope_of:
            bindings = resolver.bindings_at(node, module)
            values = [one.value for one in bindings if not one.path and one.value is not None]
            ranks = {rank_of(one, module, resolver, depth - 1) for one in values}
            return ranks.pop() if len(values) == len(bindings) and len(ranks) == 1 else None
    return None


def _is_numpys(owner: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether what draws is `numpy.random`, or a generator that is made there."""
    values = resolver.values(owner, module)
    made = [one.callee if isinstance(one, Application) else one for one in values]
    return bool(made) and all(isinstance(one, External) and one.name.startswith("numpy.random") for one in made)


def _of_draw(node: ast.Call, name: str) -> int | None:
    """The same of `randn(n, 3)` and `normal(size=(n, 3))`."""
    if any(isinstance(one, ast.Starred) for one in node.args):
        return None
    if name in ("rand", "randn"):
        return len(node.args)
    size = next((k.value for k in node.keywords if k.arg == "size"), None)
    if isinstance(size, ast.Tuple | ast.List) and not any(isinstance(one, ast.Starred) for one in size.elts):
        return len(size.elts)
    return None


def _change(index: ast.expr, module: Module, resolver: Resolver) -> int | None:
    """By how many dimensions one index of a subscript changes what is taken; None where that does not show."""
    match index:
        case ast.Slice():
            return 0
        case ast.Constant(value=value):
            return 1 if value is None else 0 if value is ... else -1 if type(value) is int else None
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int())):
            return -1
        case ast.Name() if index in module.table.scope_of:
            loops = [module.table.parents.get(one.node) for one in resolver.bindings_at(index, module)]
            return -1 if loops and all(_counts(one, module, resolver) for one in loops) else None
    return None


def _counts(loop: ast.AST | None, module: Module, resolver: Resolver) -> bool:
    """Whether a loop goes through numbers: `for i in range(n)`."""
    over = loop.iter if isinstance(loop, ast.For | ast.comprehension) else None
    return isinstance(over, ast.Call) and resolver.value(over.func, module) == External("builtins.range")


def _of_call(node: ast.Call, module: Module, resolver: Resolver, depth: int) -> int | None:
    """The same of what a function of NumPy's or of `jax.numpy` makes."""
    made = resolver.value(node.func, module)
    home, _, name = made.name.rpartition(".") if isinstance(made, External) else ("", "", "")
    if home not in HOMES or not node.args or isinstance(node.args[0], ast.Starred):
        return None
    if name in OF_ONE:
        numbers = all(rank_of(one, module, resolver, depth - 1) == 0 for one in node.args[:2])
        return 1 if numbers or name == "arange" else None
    if name in ARRAYS:
        return rank_of(node.args[0], module, resolver, depth - 1)
    shape = shape_given(node) if f"{home}.{name}" in CONSTANTS else None
    if isinstance(shape, ast.Tuple | ast.List):
        return len(shape.elts) if not any(isinstance(one, ast.Starred) for one in shape.elts) else None
    return 1 if isinstance(shape, ast.Constant) else None
