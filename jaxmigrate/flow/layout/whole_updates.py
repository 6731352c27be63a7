"""`x.at[:].set(0.5)`: one number put into all elements of an array, or added to all of them.

`[:]` needs an axis, which one number for each device no longer has without the device axis: it becomes `[...]`, which
means the same of any array.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from jaxmigrate.flow.layout import class_index, host_arithmetic, operations, plain_numbers
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.values import Abstract, Nothing, Numpys, Ref, is_tracked
from jaxmigrate.program.trust import Assumption

UPDATES = frozenset({"add", "divide", "max", "min", "mul", "multiply", "set"})


def updated(it: Interpreter, node: ast.Call, frame: Frame) -> Abstract | None:
    """The value of such a call of one stacked array; None of any other."""
    match node:
        case ast.Call(
            func=ast.Attribute(
                value=ast.Subscript(value=ast.Attribute(value=array, attr="at") as at, slice=index) as whole, attr=name
            ),
            args=[number],
            keywords=[],
        ) if name in UPDATES and _is_whole(index):
            pass
        case _:
            return None
    owner = it.evaluate(array, frame)
    if isinstance(owner, Nothing) and not owner.none and not it.final:
        return owner
    if not isinstance(owner, Ref) or class_index.is_property(it, "at"):
        return None
    value = it.evaluate(number, frame)
    if is_tracked(value) or not _is_number(it, number, owner, frame):
        return None
    it.looks.loads.add(at)
    it.mark_loads(node.func)
    it.changed |= owner.group.flatten()
    if isinstance(index, ast.Slice):
        operations.record(it, "whole", whole, at, owner.group, "", frame)
    group = it.joined_group(host_arithmetic.ALONE, node, frame.context)
    it.changed |= group.unify(owner.group)
    return replace(owner.part(leaf=True), numpys=Numpys.NO)


def _is_whole(index: ast.expr) -> bool:
    """Whether a subscript is `:` or `...`."""
    match index:
        case ast.Slice(lower=None, upper=None, step=None):
            return True
        case ast.Constant(value=value):
            return value is ...
    return False


def _is_number(it: Interpreter, node: ast.expr, owner: Ref, frame: Frame) -> bool:
    """Whether what is put into all elements is one number, or likely to be."""
    if plain_numbers.is_number(it, node, frame.module):
        return True
    if it.trust.likely:
        says = f"`{ast.unparse(node)}` is one number"
        it.lean([owner], Assumption("likely", "splits", "", says, frame.module, node))
    return it.trust.likely
