"""Calls of what a class assigns to an attribute, in methods that it inherits: `self.step = pmap(f)` in a subclass."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Class


def calls_in_bases(made: ast.AST, module: Module, resolver: Resolver) -> Iterator[tuple[ast.Call, Module]]:
    """The calls `self.step(...)` in the bases of the class in which an expression is assigned to `self.step`."""
    match module.table.parents.get(made):
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=receiver), attr=attr)], value=value) if value is made:
            cls = _class_around(made, module)
        case _:
            return
    if cls is None or not cls.node.bases:
        return
    for base in resolver.lineage(cls)[1:]:
        for call in base.module.table.calls if f".{attr}(" in base.module.text else ():
            match call.func:
                case ast.Attribute(value=ast.Name(id=name), attr=called) if called == attr and name == receiver:
                    if _class_around(call, base.module) == base:
                        yield call, base.module


def _class_around(node: ast.AST, module: Module) -> Class | None:
    """The class in whose method something stands."""
    function = module.table.function_of(node)
    above = module.table.parents.get(function) if function is not None else None
    return Class(module, above) if isinstance(above, ast.ClassDef) else None
