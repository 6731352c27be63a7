"""Attributes that hold something only until the next statement: `self.f = partial(step, key)`, `self.f = pmap(self.f)`.

The second statement reads what the first one stored, and calls functions of libraries that call nothing of the program:
so nobody else has seen the first value, and the attribute holds the second one from then on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import Protocol

from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module, Project
from jaxmigrate.program.once import once
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.values import External, Value

DEFERS = named("defers")
HOOKS = ("__setattr__", "__getattribute__", "__slots__")


class Asked(Protocol):
    """The resolver, as far as it is asked here."""

    project: Project
    kept: dict[object, object]

    def value(self, expression: ast.expr, module: Module) -> Value:
        """The one thing that an expression stands for."""
        ...


def is_momentary(target: ast.AST, module: Module, resolver: Asked) -> bool:
    """Whether what is stored in an attribute is seen by nothing but the next statement."""
    following = _pairs(module).get(target) if isinstance(target, ast.Attribute) else None
    return following is not None and _is_plain(target, following, module, resolver)  # type: ignore[arg-type]


def read(node: ast.Attribute, module: Module, resolver: Asked) -> ast.expr | None:
    """What an attribute certainly holds where it is read: what the statement before has stored for this one."""
    target = _reads(module).get(node)
    if target is None or not is_momentary(target, module, resolver):
        return None
    return _value(module.table.parents[target])


@lru_cache(maxsize=512)
def _pairs(module: Module) -> dict[ast.AST, ast.expr]:
    """Attributes of a method's own object that a statement sets, with what the next statement sets them to."""
    found: dict[ast.AST, ast.expr] = {}
    for stored in module.table.attributes:
        match stored.node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name()) as target]) as statement:
                block = module.table.block_of(statement)
                after = block[block.index(statement) + 1 :][:1]
                following = _value(after[0]) if after and _sets(after[0], target) else None
                if following is not None and _is_receiver(target, module):
                    found[target] = following
    return found


@lru_cache(maxsize=512)
def _reads(module: Module) -> dict[ast.Attribute, ast.Attribute]:
    """Where the next statement reads such an attribute, with the place that sets it."""
    return {
        node: target
        for target, following in _pairs(module).items()
        if isinstance(target, ast.Attribute)
        for node in ast.walk(following)
        if isinstance(node, ast.Attribute) and _is_same(node, target)
    }


def _value(statement: ast.AST) -> ast.expr | None:
    return statement.value if isinstance(statement, ast.Assign) else None


def _sets(statement: ast.stmt, target: ast.Attribute) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Attribute() as other]):
            return _is_same(other, target)
    return False


def _is_same(one: ast.Attribute, other: ast.Attribute) -> bool:
    """Whether two are the same attribute of the same name."""
    names = isinstance(one.value, ast.Name) and isinstance(other.value, ast.Name)
    return names and one.attr == other.attr and one.value.id == other.value.id  # type: ignore[attr-defined]


def _is_receiver(target: ast.Attribute, module: Module) -> bool:
    """Whether an attribute is one of the object whose method sets it, outside of any try."""
    function = module.table.function_of(target)
    if not isinstance(function, ast.FunctionDef) or not isinstance(module.table.parents.get(function), ast.ClassDef):
        return False
    parameters = [*function.args.posonlyargs, *function.args.args]
    name = target.value.id if isinstance(target.value, ast.Name) else ""
    bound = len(module.table.own_scope[function].bindings.get(name, ())) == 1
    return bool(parameters) and parameters[0].arg == name and bound and not any(_tries(function, target, module))


def _tries(function: ast.AST, node: ast.AST, module: Module) -> Iterator[bool]:
    """For each statement around a node whether it is a try."""
    above = module.table.parents.get(node)
    while above is not None and above is not function:
        yield isinstance(above, ast.Try | ast.TryStar | ast.With)
        above = module.table.parents.get(above)


def _is_plain(target: ast.Attribute, following: ast.expr, module: Module, resolver: Asked) -> bool:
    """Whether the next statement runs nothing of the program, and no class has a hook for such an attribute."""
    defined = _defined(resolver)
    if target.attr in defined or not defined.isdisjoint(HOOKS):
        return False
    return isinstance(following, ast.Call) and _runs_nothing(following, target, module, resolver)


def _runs_nothing(node: ast.expr, target: ast.Attribute, module: Module, resolver: Asked) -> bool:
    match node:
        case ast.Constant() | ast.Name():
            return True
        case ast.Attribute():
            return _is_same(node, target) or isinstance(resolver.value(node, module), External)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return all(_runs_nothing(one, target, module, resolver) for one in parts)
        case ast.Call(func=called, args=arguments, keywords=keywords):
            value = resolver.value(called, module)
            given = [*arguments, *(one.value for one in keywords)]
            defers = isinstance(value, External) and value.name in DEFERS
            return defers and all(_runs_nothing(one, target, module, resolver) for one in given)
    return False


@once
def _defined(resolver: Asked) -> set[str]:
    """The names of functions that are defined in classes, and of all else that these bind to hook into attributes."""
    found: set[str] = set()
    for module in resolver.project.program:
        for node, scope in module.table.own_scope.items():
            if isinstance(node, ast.ClassDef):
                found |= {name for name, every in scope.bindings.items() if name in HOOKS or _are_defs(every)}
    return found


def _are_defs(bindings: list[Binding]) -> bool:
    return any(one.kind == "def" for one in bindings)
