"""Functions of which a program maps or compiles one: the ways of a condition define them, or something chooses."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import combinations

from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.values import Function, Partial, Value

MOST = 4


def alternatives(operands: Sequence[Value]) -> list[Value]:
    """The functions, and partials of such, that a name or choice stands for; nothing where others are meant.

    Of two of one name one takes the place of the other, but for those of which a condition lets only one come to be.
    """
    functions = [inner for one in operands if (inner := _function(one)) is not None]
    if not 1 < len(operands) <= MOST or len(functions) < len(operands):
        return []
    pairs = combinations(functions, 2)
    return [*operands] if all(map(_are_apart, *zip(*pairs, strict=True))) else []


def _function(value: Value) -> Function | None:
    inner = value.callee if isinstance(value, Partial) else value
    return inner if isinstance(inner, Function) else None


def _are_apart(one: Function, other: Function) -> bool:
    """Whether neither of two functions takes the other's place."""
    named = isinstance(one.node, ast.FunctionDef) and isinstance(other.node, ast.FunctionDef)
    if one.node is other.node or not named or one.module is not other.module:
        return one.node is not other.node
    table = one.module.table
    same = table.scope_of[one.node] is table.scope_of[other.node]
    if not same or getattr(one.node, "name", "") != getattr(other.node, "name", ""):
        return True
    ways = _ways(one, one.node)
    return any(ways.get(test, way) is not way for test, way in _ways(other, other.node).items())


def _ways(function: Function, node: FunctionNode) -> dict[ast.AST, bool]:
    """The conditions around a function, each with whether it stands where that holds."""
    found: dict[ast.AST, bool] = {}
    parents = function.module.table.parents
    child: ast.AST = node
    while (above := parents.get(child)) is not None and not isinstance(above, ast.FunctionDef | ast.ClassDef):
        if isinstance(above, ast.If):
            found[above] = child in above.body
        child = above
    return found
