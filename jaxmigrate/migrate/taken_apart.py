"""Shapes that are taken apart for one reshape alone: `n, *s = x.shape`, and then `x.reshape((d, n // d, *s))`.

Of a global array, whose first two sizes are one, the reshape gives the array itself.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from jaxmigrate.flow.layout.shape_texts import shape_from
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import FunctionNode


class TakenApart(NamedTuple):
    """The statement that takes a shape apart, the reshape, and what is reshaped."""

    statement: ast.stmt
    call: ast.Call
    array: ast.expr


def splits(call: ast.Call, operand: ast.expr, module: Module) -> TakenApart | None:
    """`x.reshape((d, n // d, *s))` right below `n, *s = x.shape`."""
    found = _above(call, operand, module)
    match found.statement if found is not None else None, _sizes(call, operand):
        case (
            ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id=n), ast.Starred(value=ast.Name(id=s))])]),
            [
                count,
                ast.BinOp(left=ast.Name(id=rows), op=ast.FloorDiv(), right=by),
                ast.Starred(value=ast.Name(id=rest)),
            ],
        ) if (rows, rest) == (n, s) and ast.dump(count) == ast.dump(by):
            return found
    return None


def are_of(sizes: Sequence[ast.expr], array: ast.expr | None) -> bool:
    """Whether the sizes of a reshape are two and `*x.shape[1:]`, of an array that is a copy of x."""
    shape = sizes[0] if len(sizes) == 1 else None
    if isinstance(shape, ast.BinOp) and isinstance(shape.op, ast.Add) and isinstance(shape.left, ast.Tuple | ast.List):
        leading, rest = shape.left.elts, shape.right
    else:
        elements = shape.elts if isinstance(shape, ast.Tuple | ast.List) else [*sizes]
        last = elements[-1] if elements else None
        if not isinstance(last, ast.Starred):
            return False
        leading, rest = elements[:-1], last.value
    return array is not None and len(leading) == 2 and shape_from(rest, array) == 1


def joins(shape: ast.expr, module: Module) -> TakenApart | None:
    """`x.reshape((d * b, *s))` right below `d, b, *s = x.shape`."""
    statement = module.table.parents.get(shape)
    if not isinstance(statement, ast.Assign) or statement.value is not shape or not isinstance(shape, ast.Attribute):
        return None
    block = module.table.block_of(statement)
    below = block[block.index(statement) + 1 : block.index(statement) + 2]
    for call in ast.walk(below[0]) if below else ():
        found = _above(call, shape.value, module) if isinstance(call, ast.Call) else None
        match found, statement.targets, _sizes(call, shape.value) if isinstance(call, ast.Call) else []:
            case (
                TakenApart(),
                [ast.Tuple(elts=[ast.Name(id=d), ast.Name(id=b), ast.Starred(value=ast.Name(id=s))])],
                [
                    ast.BinOp(left=ast.Name(id=devices), op=ast.Mult(), right=ast.Name(id=each)),
                    ast.Starred(value=ast.Name(id=rest)),
                ],
            ) if {devices, each} == {d, b} and rest == s:
                return found
    return None


def _above(call: ast.Call, array: ast.expr, module: Module) -> TakenApart | None:
    """The statement above that of a reshape, if it takes the array's shape apart, and nothing else reads the parts."""
    table = module.table
    statement, function = table.statement_of(call), table.function_of(call)
    block = table.block_of(statement) if statement is not None else []
    if not isinstance(statement, ast.Return | ast.Assign | ast.Expr) or statement not in block or function is None:
        return None
    above = block[: block.index(statement)]
    match above[-1] if above else None, array:
        case (
            ast.Assign(
                targets=[ast.Tuple() as parts], value=ast.Attribute(value=ast.Name(id=of), attr="shape")
            ) as made,
            ast.Name(id=name),
        ) if of == name:
            names = {one.id for one in ast.walk(parts) if isinstance(one, ast.Name)}
            uses = [one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id in names]
            own = {*ast.walk(call), *ast.walk(parts)}
            lent = any(isinstance(one, ast.Global | ast.Nonlocal | FunctionNode) for one in _below(function))
            if name not in names and not lent and all(one in own for one in uses):
                return TakenApart(made, call, array)
    return None


def _below(function: FunctionNode) -> list[ast.AST]:
    return [one for one in ast.walk(function) if one is not function]


def _sizes(call: ast.Call, array: ast.expr) -> list[ast.expr]:
    """The sizes that a reshape of an array is given: a method of it, or a function of it."""
    if call.keywords:
        return []
    match call.func, call.args:
        case ast.Attribute(value=ast.Name(id=owner), attr="reshape"), args if isinstance(array, ast.Name):
            first = [] if owner == array.id else args[:1]
            if first and not (isinstance(first[0], ast.Name) and first[0].id == array.id):
                return []
            sizes = args[len(first) :]
            return sizes[0].elts if len(sizes) == 1 and isinstance(sizes[0], ast.Tuple | ast.List) else sizes
    return []
