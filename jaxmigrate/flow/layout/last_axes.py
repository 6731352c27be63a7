"""Shapes that keep the last axes of an array and put all others together: `x.reshape(-1, *x.shape[-3:])`.

They are said of an array alike with its device axis and without, where it has more axes than those of devices and of
rows beside the ones that are kept. With fewer, the reshape gives what it is given: so a reader takes it for granted.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from jaxmigrate.flow.layout import operations
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.kinds import RESHAPES
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.shape_texts import is_minus_one, same
from jaxmigrate.flow.layout.values import Abstract, Nothing, Ref
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import is_repeatable
from jaxmigrate.program.trust import Assumption

FETCHES = named("fetches", "copy", "array-of")


def joined(it: Interpreter, node: ast.Call, frame: Frame) -> Abstract | None:
    """The value of a call that puts the other axes of a stacked array together; None of any other."""
    array, sizes = reshaped(it, node, frame.module)
    if array is None or not it.trust.likely or not is_repeatable(array):
        return None
    kept = kept_by(sizes, [ast.unparse(array)])
    if not kept:
        return None
    value = it.evaluate(array, frame)
    if isinstance(value, Nothing) and not value.none and not it.final:
        return value
    it.mark_loads(node.func)
    if isinstance(value, Ref):
        it.lean([value], more_than(array, kept, node, frame))
        value = value.part(value.shape, leaf=True)
    return operations.merge(it, value, node, array, "same", frame)


def more_than(array: ast.expr, kept: int, node: ast.expr, frame: Frame) -> Assumption:
    """What is taken for granted of an array whose last axes are kept."""
    says = f"`{ast.unparse(array)}` has more than {kept + 1} axes"
    return Assumption("likely", "splits", "", says, frame.module, node)


def read(it: Interpreter, owner: Ref, shape: ast.Attribute, frame: Frame) -> bool:
    """Whether a shape is read for the last axes that such a call keeps, of the array itself or fetched."""
    parents = frame.module.table.parents
    above = parents.get(shape)
    while isinstance(above, ast.Subscript | ast.Starred | ast.Tuple | ast.List | ast.BinOp):
        above = parents.get(above)
    array, sizes = reshaped(it, above, frame.module)
    if array is None or not it.trust.likely or not is_repeatable(shape.value):
        return False
    kept = kept_by(sizes, [ast.unparse(shape.value)])
    if not kept or not same(shape.value, given_to_fetch(it, array, frame.module) or array):
        return False
    it.lean([owner], more_than(shape.value, kept, shape, frame))
    return True


def given_to_fetch(it: Interpreter, node: ast.expr, module: Module) -> ast.expr | None:
    """What a call fetches; None of anything else."""
    match node:
        case ast.Call(func=func, args=[array], keywords=[]) if it.idioms.external(func, module) in FETCHES:
            return array
    return None


def reshaped(
    it: Interpreter, call: ast.AST | None, module: Module
) -> tuple[ast.expr, Sequence[ast.expr]] | tuple[None, Sequence[ast.expr]]:
    """The array that a call puts in another shape, and its sizes."""
    match call:
        case ast.Call(func=ast.Attribute(value=array, attr="reshape") as func, args=sizes, keywords=[]) if (
            sizes and not it.idioms.external(func, module)
        ):
            pass
        case ast.Call(func=func, args=[array, *sizes], keywords=[]) if sizes:
            if it.idioms.external(func, module) not in RESHAPES:
                return None, ()
        case _:
            return None, ()
    match sizes:
        case [ast.Tuple(elts=elements) | ast.List(elts=elements)]:
            return array, elements
        case [ast.BinOp(left=ast.Tuple(elts=leading), op=ast.Add(), right=rest)]:
            return array, [*leading, ast.Starred(value=rest, ctx=ast.Load())]
    return array, sizes


def kept_by(sizes: Sequence[ast.expr], arrays: Collection[str]) -> int:
    """How many last axes of one of some arrays `-1, *x.shape[-2:]` or `-1, x.shape[-2], x.shape[-1]` keeps; else 0."""
    match sizes:
        case [
            first,
            ast.Starred(value=ast.Subscript(value=shape, slice=ast.Slice(lower=lower, upper=None, step=None))),
        ]:
            return _from_the_end(lower) if is_minus_one(first) and _is_shape(shape, arrays) else 0
        case [first, *rest] if is_minus_one(first):
            places = [
                _from_the_end(one.slice) for one in rest if _is_entry(one, arrays) and isinstance(one, ast.Subscript)
            ]
            return len(rest) if places == [*range(len(rest), 0, -1)] else 0
    return 0


def _is_entry(node: ast.expr, arrays: Collection[str]) -> bool:
    return isinstance(node, ast.Subscript) and _is_shape(node.value, arrays)


def _is_shape(node: ast.expr, arrays: Collection[str]) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "shape" and ast.unparse(node.value) in arrays


def _from_the_end(node: ast.expr | None) -> int:
    """k of -k; 0 of anything else."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(k))) if not isinstance(k, bool):
            return k
    return 0
