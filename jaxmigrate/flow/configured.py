"""Axis names that a program keeps in a configuration or another object: `config.data_axis`, `self.axis_name`.

For lint alone: whoever makes the object may give another name, but then gives it to the mesh as well. What a field may
be is found by its name: all its defaults, and what any call gives a keyword, or any line an attribute, of that name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once, once_each
from jaxmigrate.program.passing import passed
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import defaults_of
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Class, Constant, External, Function, Parameter, Value

DEEPEST = 3  # functions that a name is handed through


def axis_of(node: ast.expr, resolver: Resolver) -> tuple[str, ...] | None:
    """The name that an attribute is by default, where all classes and calls of the program agree on it."""
    names = texts_of(node.attr, resolver) if isinstance(node, ast.Attribute) and resolver.defaults_hold else None
    return tuple(names) if names is not None and len(names) == 1 else None


@once_each
def texts_of(field: str, resolver: Resolver) -> frozenset[str] | None:
    """All texts that a field may be, besides None; None where it may be something else, or nothing says what it is."""
    found: set[str] = set()
    classes: list[tuple[Module, ast.ClassDef]] = []
    for module in resolver.project.program:
        if field not in module.text:
            continue
        for node in module.table.parents:
            value = _given_to(field, node)
            above = module.table.parents.get(node)
            if isinstance(node, ast.AnnAssign) and value is not None:
                if not isinstance(above, ast.ClassDef):
                    continue
                classes.append((module, above))
            texts = _texts(value, module, field, resolver, DEEPEST) if value is not None else frozenset()
            if texts is None:
                return None
            found |= texts
    if not found or not all(_gives_by_name(field, module, cls, resolver) for module, cls in classes):
        return None
    return frozenset(found)


def _given_to(field: str, node: ast.AST) -> ast.expr | None:
    """What a declaration, a keyword or an assignment gives a field."""
    match node:
        case ast.AnnAssign(target=ast.Name(id=name), value=value) if name == field:
            return _default(value)
        case ast.keyword(arg=name, value=value) if name == field:
            return value
        case ast.Assign(targets=[ast.Attribute(attr=name)], value=value) if name == field:
            return value
    return None


def _default(value: ast.expr | None) -> ast.expr | None:
    """The default in `field(default="data", static=True)`, of dataclasses or another library; else the value itself."""
    if isinstance(value, ast.Call) and last_name(value.func) == "field":
        return next((one.value for one in value.keywords if one.arg == "default"), None)
    return value


def _texts(node: ast.expr, module: Module, field: str, resolver: Resolver, depth: int) -> frozenset[str] | None:
    """The texts that an expression may be; None where it may be something else."""
    if isinstance(node, ast.Attribute) and node.attr == field:
        return frozenset()  # it is handed on
    found: set[str] = set()
    for value in resolver.values(node, module):
        texts = texts_of_value(value, resolver, depth)
        if texts is None:
            if isinstance(node, ast.Attribute):
                return _of_field(node.attr, resolver)
            return frozenset() if isinstance(node, ast.Name) and node.id == field else None
        found |= texts
    return frozenset(found)


def _of_field(field: str, resolver: Resolver) -> frozenset[str] | None:
    """The texts of another field, unless it is given what is asked about itself."""
    active = _active(resolver)
    if field in active:
        return None
    active.add(field)
    try:
        return texts_of(field, resolver)
    finally:
        active.discard(field)


@once
def _active(_resolver: Resolver) -> set[str]:
    """The fields that others are given, of which is being found out what they may be."""
    return set()


def texts_of_value(value: Value, resolver: Resolver, depth: int = DEEPEST) -> frozenset[str] | None:
    """The texts that a constant is, or that calls pass for a parameter, besides None; None where others may be."""
    if isinstance(value, Parameter) and depth:
        return _texts_passed(value, resolver, depth - 1)
    if not isinstance(value, Constant):
        return None
    if isinstance(value.value, str):
        return frozenset([value.value])
    return frozenset() if isinstance(value.value, int | float | None) else None  # `x.sum(axis=0)` is of no mesh


def _texts_passed(parameter: Parameter, resolver: Resolver, depth: int) -> frozenset[str] | None:
    """What all calls that may be of a parameter's function pass for it, those of methods told by name."""
    function = parameter.function
    if isinstance(function, ast.Lambda):
        return None
    found: set[str] = set()
    given = list(_passed(parameter, function, resolver))
    for node, module in given:
        texts = _texts(node, module, parameter.name, resolver, depth) if node is not None else None
        if texts is None:
            return None
        found |= texts
    return frozenset(found) if given else None


def _passed(
    parameter: Parameter, function: ast.FunctionDef | ast.AsyncFunctionDef, resolver: Resolver
) -> Iterator[tuple[ast.expr | None, Module]]:
    """The expressions that are passed for a parameter, None for what a star hides."""
    scope = parameter.module.table.own_scope.get(function)
    is_method = scope is not None and scope.parent is not None and scope.parent.kind == "class"
    default = dict(defaults_of(function.args)).get(parameter.name)
    for module in resolver.project.program:
        for node in module.table.named.get(function.name, ()) if function.name in module.text else ():
            call = module.table.parents.get(node)
            if (
                not isinstance(call, ast.Call)
                or call.func is not node
                or _is_of_others(node, function, module, resolver)
            ):
                continue
            arguments = call_arguments(call, module)
            if any(one.keyword in ("*", "**") for one in arguments):
                yield None, module
                continue
            positional = [one.expression for one in arguments if one.keyword is None]
            named = {str(one.keyword): one.expression for one in arguments if one.keyword is not None}
            known = passed(function.args, positional, named, int(is_method)).known
            yield (known[parameter.name], module) if parameter.name in known else (default, parameter.module)


def _is_of_others(node: ast.expr, function: ast.AST, module: Module, resolver: Resolver) -> bool:
    """Whether what is called is certainly not a function, for all that it has its name."""
    values = resolver.values(node, module)
    others = (isinstance(v, External) or (isinstance(v, Function) and v.node is not function) for v in values)
    return bool(values) and all(others)


def _gives_by_name(field: str, module: Module, cls: ast.ClassDef, resolver: Resolver) -> bool:
    """Whether no call of a class gives a field by its position."""
    names = resolver.declared_fields(Class(module, cls))
    position = names.index(field) if field in names else 0
    for other in resolver.project.program:
        for node in other.table.named.get(cls.name, ()) if cls.name in other.text else ():
            call = other.table.parents.get(node)
            if isinstance(call, ast.Call) and last_name(call.func) == cls.name and len(call.args) > position:
                return False
    return True
