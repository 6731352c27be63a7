"""Conditions whose outcome the program settles: `self.backend == "pmap"` where nothing passes another backend.

A class that maps its function or jits it, as it is told, would otherwise be held to do both.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.modules import Module
from jaxmigrate.program.values import Constant, Parameter, Value

if TYPE_CHECKING:
    from jaxmigrate.flow.layout.interpreter import Interpreter


def known_truth(it: Interpreter, test: ast.expr, module: Module) -> bool | None:
    """Whether a comparison of a name or attribute with a string always or never holds; None where it may do both."""
    match test:
        case ast.Compare(
            left=(ast.Name() | ast.Attribute()) as left,
            ops=[(ast.Eq() | ast.NotEq()) as op],
            comparators=[ast.Constant(value=str(expected))],
        ):
            if isinstance(left, ast.Attribute) and _is_set_from_outside(it, left.attr):
                return None
            found = {value.value if isinstance(value, Constant) else None for value in _values(it, left, module)}
            if None in found or not found or any(not isinstance(one, str) for one in found):
                return None
            outcomes = {(one == expected) is isinstance(op, ast.Eq) for one in found}
            return outcomes.pop() if len(outcomes) == 1 else None
    return None


def _is_set_from_outside(it: Interpreter, name: str) -> bool:
    """Whether some code sets an attribute of that name of anything but its own object, or any by its name."""
    found = [a.target for module in it.resolver.project.named for a in module.table.attributes if a.attr == name]
    reflects = any("setattr" in module.table.named for module in it.resolver.project.named)
    return reflects or any(not (isinstance(target, ast.Name) and target.id == "self") for target in found)


def _values(it: Interpreter, node: ast.expr, module: Module) -> list[Value]:
    """What an expression stands for, a parameter for all that is passed for it."""
    callers = callers_of(it.resolver)
    values = it.resolver.values(node, module)
    return [one for v in values for one in (callers.passed(v) if isinstance(v, Parameter) else (v,))]
