"""Conditions whose outcome the program settles: `self.backend == "pmap"` where nothing passes another backend.

A class that maps its function or jits it, as it is told, would otherwise be held to do both.
"""

from __future__ import annotations

import ast

from jaxmigrate.flow.axes import last_name
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.values import Constant, Parameter, Value

REFLECTING = frozenset({"__dict__", "__setattr__", "eval", "exec", "globals", "locals", "setattr", "vars"})


def known_truth(it: Interpreter, test: ast.expr, module: Module) -> bool | None:
    """Whether a comparison of a name or attribute with a string always or never holds; None where it may do both."""
    match test:
        case ast.Compare(
            left=(ast.Name() | ast.Attribute()) as left,
            ops=[(ast.Eq() | ast.NotEq()) as op],
            comparators=[ast.Constant(value=str(expected))],
        ):
            if _may_be_set_from_outside(it, last_name(left), isinstance(left, ast.Attribute)):
                return None
            found = {value.value if isinstance(value, Constant) else None for value in _values(it, left, module)}
            outcomes = {(one == expected) is isinstance(op, ast.Eq) for one in found}
            certain = all(isinstance(one, str) for one in found) and len(outcomes) == 1
            return outcomes.pop() if certain else None
    return None


@once
def _settable(_it: Interpreter) -> dict[tuple[str, bool], bool]:
    """Whether some module sets a name, by that and by whether it is an attribute."""
    return {}


def _may_be_set_from_outside(it: Interpreter, name: str, is_attribute: bool) -> bool:
    """Whether code that `resolve` does not look at may set a name: of another object, in a subclass, by reflection."""
    key = (name, is_attribute)
    if key not in _settable(it):
        modules = [module for module in it.resolver.project.named if name in module.text]
        _settable(it)[key] = any(_sets(module, *key) for module in modules)
    return _settable(it)[key]


def _sets(module: Module, name: str, is_attribute: bool) -> bool:
    """Whether a module may set an attribute of an object that is not the method's own, or a name by reflection."""
    table = module.table
    if not REFLECTING.isdisjoint(table.named):
        return True
    named = (n for n in module.nodes if isinstance(n, ast.Attribute) and n.attr == name)
    stored = [n for n in named if isinstance(n.ctx, ast.Store | ast.Del)]
    known = [a for a in table.attributes if a.attr == name]
    if len(stored) != len(known) or not all(_is_self(a.target) for a in known):
        return True
    classes = (scope for scope in table.own_scope.values() if scope.kind == "class")
    return is_attribute and any(name in scope.bindings for scope in classes)


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _values(it: Interpreter, node: ast.expr, module: Module) -> list[Value]:
    """What an expression stands for, a parameter for all that is passed for it."""
    callers = callers_of(it.resolver)
    values = it.resolver.values(node, module)
    return [one for v in values for one in (callers.passed(v) if isinstance(v, Parameter) else (v,))]
