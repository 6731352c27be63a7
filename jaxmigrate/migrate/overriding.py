"""Whether a method may run on objects of other classes than its own, by inheritance or because it is borrowed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Class

OF_CLASSES = frozenset({"base", "cls", "klass", "parent"})  # what some variables and attributes are called
Named = ast.FunctionDef | ast.AsyncFunctionDef


def may_be_overridden(function: Named, owner: ast.ClassDef, resolver: Resolver) -> bool:
    """Whether a method may run on objects that have another one of its name, or none: inherited, or borrowed."""
    for module in resolver.project.program:
        if function.name in module.text:
            if _is_read_of_class(function.name, module, resolver):
                return True
            others = _classes_with(function.name, module)
            if any(other is not owner and _inherit(resolver, owner, other) for other in others):
                return True
    return False


def is_called_of_objects(function: Named, resolver: Resolver) -> bool:
    """Whether a method of some name is only read of objects, whose class says which one runs: not by `super`."""
    return all(
        _is_object(read.value, module, resolver)
        for module in resolver.project.program
        if function.name in module.text
        for read in module.table.named.get(function.name, ())
        if isinstance(read, ast.Attribute)
    ) and not any(f'"{function.name}"' in m.text or f"'{function.name}'" in m.text for m in resolver.project.program)


def _is_object(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether an expression stands for an object: a name or an attribute that stands for no class."""
    if isinstance(node, ast.Name | ast.Attribute):
        name = last_name(node)
        is_class = name in OF_CLASSES or name.startswith("__") or name[:1].isupper()
        return not is_class and not isinstance(resolver.value(node, module), Class)
    return isinstance(node, ast.Subscript)


def _is_read_of_class(method: str, module: Module, resolver: Resolver) -> bool:
    """Whether a file reads a method of a class itself."""
    reads = (n for n in module.table.named.get(method, ()) if isinstance(n, ast.Attribute))
    return any(isinstance(resolver.value(n.value, module), Class) for n in reads)


def _classes_with(method: str, module: Module) -> Iterator[ast.ClassDef]:
    for node in module.nodes:
        if isinstance(node, Named) and node.name == method:
            above = module.table.parents.get(node)
            if isinstance(above, ast.ClassDef):
                yield above


def _inherit(resolver: Resolver, *owners: ast.ClassDef) -> bool:
    """Whether one of some classes has others of the project above it, or below."""
    above = {last_name(base) for owner in owners for base in owner.bases}
    below = {owner.name for owner in owners}
    every = (n for m in resolver.project.program for n in m.nodes if isinstance(n, ast.ClassDef))
    return any(n.name in above or not below.isdisjoint(map(last_name, n.bases)) for n in every)
