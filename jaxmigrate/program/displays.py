"""Tuples and lists that are put together of others: `(x,) * 3`, `(x, y) + (z,)`."""

from __future__ import annotations

import ast

LONGEST = 64  # elements


def put_together(node: ast.expr) -> ast.Tuple | None:
    """The tuple that an expression makes of displays; its elements are those that are written."""
    elements = _elements(node)
    return None if elements is None else ast.copy_location(ast.Tuple(elements, ast.Load()), node)


def _elements(node: ast.expr) -> list[ast.expr] | None:
    match node:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return elements
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            one, other = _elements(left), _elements(right)
            return None if one is None or other is None else one + other
        case (
            ast.BinOp(left=left, op=ast.Mult(), right=ast.Constant(value=int(times)))
            | ast.BinOp(left=ast.Constant(value=int(times)), op=ast.Mult(), right=left)
        ):
            several = _elements(left)
            return several * times if several is not None and len(several) * times <= LONGEST else None
    return None
