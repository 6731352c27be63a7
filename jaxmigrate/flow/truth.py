"""How a test turns out where something is known of what it is made of."""

from __future__ import annotations

import ast
from collections.abc import Callable


def truth(
    test: ast.expr, known: Callable[[ast.expr], bool | None], agree: Callable[[ast.expr, ast.expr], bool | None]
) -> bool | None:
    """Whether a condition holds; None where that is not known.

    `known` says it of what is neither `not`, `and`, `or` nor a comparison, `agree` whether two expressions are equal.
    """
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _opposite(truth(operand, known, agree))
        case ast.BoolOp(op=op, values=values):
            decisive = isinstance(op, ast.Or)
            parts = [truth(value, known, agree) for value in values]
            return decisive if decisive in parts else None if None in parts else not decisive
        case ast.Compare(left=left, ops=[ast.Is() | ast.Eq()], comparators=[right]):
            return agree(left, right)
        case ast.Compare(left=left, ops=[ast.IsNot() | ast.NotEq()], comparators=[right]):
            return _opposite(agree(left, right))
    return known(test)


def _opposite(answer: bool | None) -> bool | None:
    return None if answer is None else not answer
