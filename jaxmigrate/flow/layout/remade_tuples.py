"""Named tuples that a helper makes anew from what a function gives of their parts: `type(rays)(*map(fn, rays))`."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout import class_index, classes, projections
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.values import Abstract, Nothing, Plain, Ref, Seq, Tup
from jaxmigrate.program.values import External

# What a class has that may not keep what it is made of, one part each, and that can be iterated over all the same.
OTHERWISE = ("__iter__", "__getitem__", "__new__", "_make")


def remade(it: Interpreter, node: ast.Call, frame: Frame) -> Abstract | None:
    """The value of such a call where what is made anew holds no stacked arrays, and its parts do; else None."""
    match node:
        case ast.Call(
            func=ast.Call(func=kind, args=[like], keywords=[]), args=[ast.Starred(value=parts)], keywords=[]
        ) if kind in frame.module.table.scope_of and it.resolver.value(kind, frame.module) == External("builtins.type"):
            pass
        case ast.Call(func=ast.Attribute(value=like, attr="_make"), args=[parts], keywords=[]):
            pass
        case _:
            return None
    before = it.evaluate(like, frame)
    if not isinstance(before, Plain | Nothing) or _may_be_otherwise(it):
        return None
    if isinstance(before, Plain) and before.cls is not None and not classes.is_named_tuple(it, before.cls):
        return None
    made = it.evaluate(parts, frame)
    if not isinstance(made, Seq | Tup) or (isinstance(made, Seq) and made.box.fields):
        return None
    element = projections.element(it, made, node, frame)
    if not isinstance(element, Ref):
        return element if isinstance(element, Nothing) and not it.final else None
    it.mark_loads(node.func)
    it.changed |= element.group.flatten()
    return element.part()


def _may_be_otherwise(it: Interpreter) -> bool:
    """Whether some class in sight may make something else of its parts; one of iterators is no tree of arrays."""
    found = (cls for name in OTHERWISE for cls in class_index.having(it, name))
    return any(cls.node.decorator_list or not class_index.has(cls, "__next__") for cls in found)
