"""Whether a method may run on objects of other classes than its own, by inheritance or because it is borrowed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Class

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
