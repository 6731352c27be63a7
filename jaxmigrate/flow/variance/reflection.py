"""Functions and classes of a program that it gets at without naming them: by computed names, or by their own making."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Class, Instance, ModuleValue, Value

PLAIN_METACLASSES = frozenset({"ABCMeta", "EnumMeta", "EnumType"})  # which keep no class that they make
MAKERS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def reached(module: Module, resolver: Resolver) -> Iterator[tuple[str, Module]]:
    """The names of what a module's code gets at by computed names, and of its classes that something keeps."""
    for call in module.table.calls:
        if not isinstance(call.func, ast.Name):
            continue
        if call.func.id == "globals":
            yield from _named(_bound([module.tree.body], ""), module)
        elif call.func.id == "getattr" and len(call.args) > 1 and not isinstance(call.args[1], ast.Constant):
            start = _start(call.args[1])
            for owner in resolver.values(call.args[0], module):
                for home, bodies in _bodies(owner, resolver):
                    yield from _named(_bound(bodies, start), home)
            if ast.unparse(call.args[0]) == "sys.modules[__name__]":
                yield from _named(_bound([module.tree.body], start), module)
    for node in module.table.own_scope:
        if isinstance(node, ast.ClassDef) and _is_kept(Class(module, node), resolver):
            yield node.name, module


def _named(names: Iterable[str], module: Module) -> Iterator[tuple[str, Module]]:
    for name in names:
        yield name, module


def _bodies(owner: Value, resolver: Resolver) -> Iterator[tuple[Module, list[list[ast.stmt]]]]:
    """The statements that may define an attribute of something."""
    if isinstance(owner, ModuleValue):
        yield owner.module, [owner.module.tree.body]
    elif isinstance(owner, Instance | Class):
        for one in resolver.lineage(owner.cls if isinstance(owner, Instance) else owner):
            yield one.module, [one.node.body]


def _bound(bodies: Iterable[list[ast.stmt]], start: str) -> list[str]:
    """The functions and classes that statements define, of which the names begin in a way."""
    return [s.name for body in bodies for s in body if isinstance(s, MAKERS) and s.name.startswith(start)]


def _start(name: ast.expr) -> str:
    """What a computed name begins with for certain."""
    first = name.values[0] if isinstance(name, ast.JoinedStr) and name.values else None
    first = name.left if isinstance(name, ast.BinOp) else first
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def _is_kept(cls: Class, resolver: Resolver) -> bool:
    """Whether a class may be kept where it is made: by its metaclass, or by what a base does with its subclasses."""
    for one in resolver.lineage(cls):
        words = [k.value for k in one.node.keywords if k.arg == "metaclass"]
        if any(ast.unparse(word).rpartition(".")[2] not in PLAIN_METACLASSES for word in words):
            return True
        if one != cls and "__init_subclass__" in one.module.table.own_scope[one.node].bindings:
            return True
    return False
