"""Attributes and modules' variables that a program may set without writing them: `setattr`, `vars(x)[name]`, `exec`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver

SETTERS = {"setattr": 1, "__setattr__": 0}  # the position of the name; one more where the object is passed as well
MAPPINGS = frozenset({"__dict__", "globals", "locals", "vars"})
READS = frozenset({"copy", "get", "items", "keys", "values"})
ANY = ""


def may_be(name: str, resolver: Resolver) -> bool:
    """Whether something may get another value so that goes by a name, if it is an attribute or a module's variable."""
    found = _names(resolver)
    return bool(found) and (ANY in found or name in found) and _is_held(name, resolver)


def _is_held(name: str, resolver: Resolver) -> bool:
    """Whether a name is that of an attribute, or of a variable of a module or class."""
    for module in resolver.project.program:
        if name not in module.text:
            continue
        if name in module.table.own_scope[module.tree].bindings:
            return True
        if any(isinstance(n, ast.Attribute) and n.attr == name and isinstance(n.ctx, ast.Store) for n in module.nodes):
            return True
        classes = (scope for scope in module.table.own_scope.values() if scope.kind == "class")
        if any(name in scope.bindings for scope in classes):
            return True
    return False


@once
def _names(resolver: Resolver) -> frozenset[str]:
    """The names that are set so; one that is empty stands for any."""
    return frozenset(name for module in resolver.project.program for name in _of_module(module))


def _of_module(module: Module) -> Iterator[str]:
    for word, at in SETTERS.items():
        for node in module.table.named.get(word, ()):
            call = module.table.parents.get(node)
            if isinstance(call, ast.Call) and call.func is node:
                yield _text(call.args[at]) if len(call.args) == at + 2 else ANY
            else:
                yield ANY
    for word in MAPPINGS:
        for node in module.table.named.get(word, ()):
            yield from _written(node, module)
    yield from (ANY for _ in module.table.named.get("exec", ()))


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ANY


def _written(node: ast.expr, module: Module) -> Iterator[str]:
    """The names that are set in the dictionary of an object, a module or a function: `vars(x)[name] = value`."""
    parents = module.table.parents
    parent = parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        node, parent = parent, parents.get(parent)
    match parent:
        case ast.Subscript(value=value, slice=index, ctx=ast.Store() | ast.Del()) if value is node:
            yield _text(index)
        case ast.Attribute(attr=attr) if attr not in READS:
            keywords = _keywords(parents.get(parent)) if attr == "update" else None
            yield from [ANY] if keywords is None else keywords
        case ast.AugAssign() | ast.Assign() | ast.NamedExpr():
            yield ANY


def _keywords(call: ast.AST | None) -> list[str] | None:
    """The names in `update(a=1)`; None where others may be among them."""
    if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
        return None
    return [k.arg for k in call.keywords if k.arg is not None]
