"""The classes of a project: which of them are trees of arrays, and which have a base that may look at their objects."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.variance.library import NAMED_TUPLES
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.values import Class, External, ModuleValue, Value

INERT_BASES = named("inert-base")
PYTREE_MARKS = named("pytree", "named-tuple")
_INERT = INERT_BASES | PYTREE_MARKS


def marks_of(it: Interpreter, cls: Class) -> Iterator[tuple[ast.expr, Module]]:
    """The bases and decorators of a class and of its bases in the project, which say what kind of object it makes."""
    for one in it.resolver.lineage(cls):
        for mark in [*one.node.bases, *(d.func if isinstance(d, ast.Call) else d for d in one.node.decorator_list)]:
            yield mark, one.module


def is_pytree(it: Interpreter, cls: Class) -> bool:
    """Whether objects of a class are trees of arrays."""
    for mark, module in marks_of(it, cls):
        value = it.resolver.value(mark, module)
        inner = it.resolver.values(mark.args[0], module) if isinstance(mark, ast.Call) and mark.args else ()
        if any(isinstance(v, External) and v.name in PYTREE_MARKS for v in (value, *inner)):
            return True
    return False


def is_named_tuple(it: Interpreter, cls: Class) -> bool:
    """Whether objects of a class are tuples of the fields that it declares, as they were given to it."""
    if len(it.resolver.lineage(cls)) > 1:
        return False
    values = [it.resolver.value(base, cls.module) for base in cls.node.bases]
    return any(isinstance(value, External) and value.name in NAMED_TUPLES for value in values)


def name_at(it: Interpreter, cls: Class, node: ast.expr, module: Module) -> str:
    """The name that a class goes by where an expression stands, bound once and for all before; empty if it has none."""
    scopes = [module.table.scope_of[inner] for inner in ast.walk(node) if inner in module.table.scope_of]
    for name, bindings in module.table.root.bindings.items():
        if len(bindings) != 1 or not scopes or scopes[0].lookup(name) is not module.table.root:
            continue
        statement = module.table.statement_of(bindings[0].node)
        above = statement is not None and module.table.parents.get(statement) is module.tree
        if not above or statement is None or statement.lineno > node.lineno:
            continue
        if tuple(it.resolver.attribute(ModuleValue(module), name)) == (cls,):
            return name
    return ""


def foreign_base(it: Interpreter, cls: Class) -> str:
    """A base of a class that the project does not hold and that may look at its attributes."""
    return next((ast.unparse(base) for base, _ in _foreign(it, cls)), "")


def foreign_bases(it: Interpreter, cls: Class) -> list[str]:
    """The full names of all such bases; empty for one that is no name of a library's."""
    return [value.name if isinstance(value, External) else "" for _, value in _foreign(it, cls)]


def _foreign(it: Interpreter, cls: Class) -> Iterator[tuple[ast.expr, Value]]:
    for one in it.resolver.lineage(cls):
        for base in one.node.bases:
            inner = base.value if isinstance(base, ast.Subscript) else base
            value = it.resolver.value(inner, one.module)
            if not (isinstance(value, Class) or (isinstance(value, External) and value.name in _INERT)):
                yield base, value
