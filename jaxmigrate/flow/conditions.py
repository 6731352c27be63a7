"""Conditions whose outcome the program settles: `self.backend == "pmap"`, `if fewshot is None`, `if as_array`.

A class that maps its function or jits it, as it is told, would otherwise be held to do both.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from jaxmigrate.program.attribute_stores import stored_attributes
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.remade_objects import remakes_objects
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Constant, Parameter, Value

REFLECTING = frozenset({"__dict__", "__setattr__", "eval", "exec", "globals", "locals", "setattr", "vars"})
# What may give any attribute another value, or set it by a name that is only known when the program runs.
OVERRIDING = re.compile(r"\b__(getattr|getattribute|setattr|class)__\b|\bnamespace\s*=|parse_args\([^()]*,")


def known_truth(resolver: Resolver, test: ast.expr, module: Module) -> bool | None:
    """Whether a test of a name or attribute always or never holds; None where it may do both.

    It compares with a string, asks for None, or reads what is True, False or None.
    """
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = known_truth(resolver, operand, module)
            return None if inner is None else not inner
        case ast.Name() | ast.Attribute():
            return _one_outcome(resolver, test, module, bool | None, bool)
        case ast.Compare(
            left=(ast.Name() | ast.Attribute()) as left, ops=[op], comparators=[ast.Constant(value=expected)]
        ):
            same = isinstance(op, ast.Eq | ast.Is)
            if isinstance(op, ast.Eq | ast.NotEq) and isinstance(expected, str):
                return _one_outcome(resolver, left, module, str, lambda value: (value == expected) is same)
            if isinstance(op, ast.Is | ast.IsNot) and expected is None:
                return _one_outcome(resolver, left, module, object, lambda value: (value is None) is same)
    return None


def _one_outcome(
    resolver: Resolver, node: ast.Name | ast.Attribute, module: Module, kind: Any, outcome: Callable[[object], bool]
) -> bool | None:
    """What comes of all that a name or attribute stands for, where these are constants of a kind that agree on it."""
    if _may_be_set_from_outside(resolver, node, module):
        return None
    values = _values(resolver, node, module)
    found = [value.value for value in values if isinstance(value, Constant) and isinstance(value.value, kind)]
    outcomes = set(map(outcome, found))
    return outcomes.pop() if len(found) == len(values) and len(outcomes) == 1 else None


def constants(resolver: Resolver, node: ast.Name | ast.Attribute, module: Module) -> list[Constant] | None:
    """All that a name or attribute stands for, where that is known to be constants and nothing else."""
    if _may_be_set_from_outside(resolver, node, module):
        return None
    values = _values(resolver, node, module)
    found = [value for value in values if isinstance(value, Constant)]
    return found if found and len(found) == len(values) else None


@once
def _settable(_resolver: Resolver) -> dict[tuple[str, bool], bool]:
    """Whether some module sets a name, by that and by whether it is an attribute."""
    return {}


def _may_be_set_from_outside(resolver: Resolver, node: ast.Name | ast.Attribute, module: Module) -> bool:
    """Whether code that `resolve` does not look at may set a name: of another object, in a subclass, by reflection."""
    name = last_name(node)
    key = (name, isinstance(node, ast.Attribute))
    if (isinstance(node, ast.Attribute) or _is_of_module(node, module)) and _reflects(resolver):
        return True
    if isinstance(node, ast.Attribute) and remakes_objects(resolver):
        return True
    if key not in _settable(resolver):
        modules = [module for module in resolver.project.program if name in module.text]
        _settable(resolver)[key] = any(_sets(module, *key) for module in modules)
    return _settable(resolver)[key]


def _is_of_module(name: ast.Name, module: Module) -> bool:
    """Whether a name is a module's variable, which other modules can set as an attribute."""
    scope = module.table.scope_of.get(name)
    holder = scope.lookup(name.id) if scope is not None else None
    return holder is None or holder.kind == "module"


@once
def _reflects(resolver: Resolver) -> bool:
    """Whether some module may set attributes without their names: from options, a file, or as another class says."""
    return any(
        OVERRIDING.search(module.text) or not REFLECTING.isdisjoint(module.table.named)
        for module in resolver.project.program
    )


def _sets(module: Module, name: str, is_attribute: bool) -> bool:
    """Whether a module may set an attribute of an object that is not the method's own, or a name by reflection."""
    table = module.table
    if not REFLECTING.isdisjoint(table.named):
        return True
    stored = stored_attributes(module).get(name, ())
    known = [a for a in table.attributes if a.attr == name]
    if len(stored) != len(known) or not all(_is_of_method(a.target, module) for a in known):
        return True
    classes = (scope for scope in table.own_scope.values() if scope.kind == "class")
    return is_attribute and any(name in scope.bindings for scope in classes)


def _is_of_method(node: ast.expr, module: Module) -> bool:
    """Whether an expression is `self` in a method, of a class whose methods are not called by its name."""
    function = module.table.function_of(node)
    holder = module.table.parents.get(function) if function is not None else None
    own = isinstance(node, ast.Name) and node.id == "self" and isinstance(holder, ast.ClassDef)
    return own and isinstance(holder, ast.ClassDef) and f"{holder.name}." not in module.text


def _values(resolver: Resolver, node: ast.expr, module: Module) -> list[Value]:
    """What an expression stands for, a parameter for all that is passed for it."""
    callers = callers_of(resolver)
    values = resolver.values(node, module)
    return [one for v in values for one in (callers.passed(v) if isinstance(v, Parameter) else (v,))]
