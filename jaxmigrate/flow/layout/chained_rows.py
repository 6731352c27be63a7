"""`chain(*x)` and `chain.from_iterable(x)` of one array: the rows of all its slices, one after another.

That is what iterating over the same array without its device axis gives. Of a tuple or a list of arrays it is something
else.
"""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout import operations
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.one_array import seems_one
from jaxmigrate.flow.layout.values import Abstract, Nothing, Ref
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module

CHAINS = named("chains")
CHAINS_EACH = named("chains-each")


def chained(it: Interpreter, node: ast.Call, frame: Frame) -> Abstract | None:
    """The value of such a call of one stacked array; None of any other."""
    operand = chained_by(it, node, frame.module)
    if operand is None:
        return None
    value = it.evaluate(operand, frame)
    if isinstance(value, Nothing) and not value.none and not it.final:
        return value
    if not isinstance(value, Ref) or not (value.is_array or seems_one(it, value, operand, frame)):
        it.operations.plain_ops.add(node)
        return None
    it.mark_loads(node.func)
    return operations.merge(it, value, node, operand, operations.CHAINED, frame)


def chained_by(it: Interpreter, node: ast.Call, module: Module) -> ast.expr | None:
    """The one thing whose elements a call chains."""
    if node.keywords or len(node.args) != 1 or not isinstance(node.func, ast.Name | ast.Attribute):
        return None
    name, given = it.idioms.external(node.func, module), node.args[0]
    if isinstance(given, ast.Starred):
        return given.value if name in CHAINS else None
    return given if name in CHAINS_EACH and isinstance(node.func, ast.Attribute) else None
