"""What shapes say as they are written: how many dimensions they keep, add or put together."""

from __future__ import annotations

import ast

from jaxmigrate.flow.guards import is_tried
from jaxmigrate.program.modules import Module


def pattern_sides(pattern: str) -> tuple[list[str], list[str]] | None:
    """The axes of both sides of a pattern of einops whose result begins with two axes that have names."""
    before, arrow, after = pattern.partition("->")
    sides = before.split(), after.split()
    named_first = len(sides[1]) > 1 and all(one.isidentifier() for one in sides[1][:2])
    return sides if arrow and named_first and "->" not in after else None


def shape_given(call: ast.Call, position: int = 0) -> ast.expr | None:
    """The shape that a function such as `jnp.zeros` is given, by its name or at a position."""
    named = next((k.value for k in call.keywords if k.arg == "shape"), None)
    return named or next(iter(call.args[position : position + 1]), None)


def leading_sizes(shape: ast.expr | None) -> list[ast.expr]:
    """The first sizes of a shape that are written out: those of `n`, `(n, 3)`, `(n, *rest)` and `(n,) + rest`."""
    match shape:
        case None | ast.Starred():
            return []
        case ast.Tuple(elts=sizes) | ast.List(elts=sizes):
            stars = [i for i, one in enumerate(sizes) if isinstance(one, ast.Starred)]
            return sizes[: stars[0]] if stars else sizes
        case ast.BinOp(left=ast.Tuple() as left, op=ast.Add()):
            return leading_sizes(left)
        case ast.Name() | ast.Attribute() | ast.Call():
            return [shape]
    return []


def is_ones(node: ast.expr, array: ast.expr, display: type[ast.expr]) -> bool:
    """Whether an expression is `(1,) * x.ndim`, in a display of that type."""
    match node:
        case ast.BinOp(
            left=ast.Tuple(elts=[one]) | ast.List(elts=[one]) as ones,
            op=ast.Mult(),
            right=ast.Attribute(value=of, attr="ndim"),
        ):
            return isinstance(ones, display) and is_one(one) and same(of, array)
    return False


def is_one(node: ast.expr) -> bool:
    """Whether an expression is the number one."""
    return isinstance(node, ast.Constant) and node.value is not True and node.value == 1


def is_zero(node: ast.expr) -> bool:
    """Whether an expression is the number zero."""
    return isinstance(node, ast.Constant) and node.value is not False and node.value == 0


def is_ellipsis(node: ast.expr) -> bool:
    """Whether an expression is `...`."""
    return isinstance(node, ast.Constant) and node.value is ...


def is_none(node: ast.expr) -> bool:
    """Whether an expression is the constant None."""
    return isinstance(node, ast.Constant) and node.value is None


def same(one: ast.expr, other: ast.expr) -> bool:
    """Whether two expressions are written alike."""
    return ast.unparse(one) == ast.unparse(other)


def shape_from(node: ast.expr, array: ast.expr) -> int | None:
    """k where a node is `array.shape[k:]`, as it is or as a list."""
    match node:
        case ast.Call(func=ast.Name(id="list" | "tuple"), args=[ast.Subscript() as inner], keywords=[]):
            return shape_from(inner, array)
        case ast.Subscript(
            value=ast.Attribute(value=owner, attr="shape"),
            slice=ast.Slice(lower=ast.Constant(value=int(k)), upper=None, step=None),
        ) if same(owner, array):
            return k
    return None


def mentions(node: ast.expr, array: ast.expr) -> bool:
    """Whether an expression reads an array, by the name that it goes by."""
    names = {n.id for n in ast.walk(array) if isinstance(n, ast.Name)}
    return any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(node))


def is_minus_one(node: ast.expr) -> bool:
    """Whether an expression is -1."""
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and ast.unparse(node) == "-1"


def is_whole(node: ast.expr, array: ast.expr) -> bool:
    """Whether a dimension is -1 or the product of the array's first two."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1)):
            return True
    shape = f"{ast.unparse(array)}.shape"
    return ast.unparse(node) == f"{shape}[0] * {shape}[1]"


def must_fit(size: ast.expr, module: Module) -> bool:
    """Whether a size that has a name is that of all rows, since any other raises, and nobody handles that."""
    if not isinstance(size, ast.Name) or is_tried(size, module):
        return False
    above = module.table.parents.get(size)
    while above is not None and not isinstance(above, ast.With | ast.AsyncWith):  # `contextlib.suppress(TypeError)`
        above = module.table.parents.get(above)
    return above is None


def is_first_axis(keyword: ast.keyword) -> bool:
    """Whether a keyword says what a stack does anyway: `axis=0`."""
    return keyword.arg == "axis" and is_zero(keyword.value)
