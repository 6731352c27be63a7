"""Which values host code takes for one array although a map may have given several in a tuple or a list.

Arithmetic with what is no array raises as a rule, and what it gives of a tuple or a list is something else: `x * 2`.
"""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.values import Ref
from jaxmigrate.program.trust import Assumption


def seems_one(it: Interpreter, value: Ref, operand: ast.expr, frame: Frame) -> bool:
    """Whether a reader takes a value for one array: nothing shows that it holds several."""
    shape = value.shape
    several = shape is not None and (shape.kind == "dict" or shape.parts is not None or shape.fields is not None)
    if several or not it.trust.likely:
        return False
    says = f"`{ast.unparse(operand)}` is one array, and no tuple or list of arrays"
    it.lean([value], Assumption("likely", "splits", "", says, frame.module, operand))
    return True
