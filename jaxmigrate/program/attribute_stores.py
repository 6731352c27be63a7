"""How a program sets attributes: by assignments, in loops and unpackings, and by names as texts."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache

from jaxmigrate.program.modules import Module
from jaxmigrate.program.only_read import READERS, READS
from jaxmigrate.program.syntax import last_name

SETTERS = frozenset({"setattr", "__setattr__", "delattr", "__delattr__"})


@lru_cache(maxsize=512)
def stored_attributes(module: Module) -> dict[str, list[ast.Attribute]]:
    """The attributes that a module assigns or deletes, by name."""
    found: dict[str, list[ast.Attribute]] = {}
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            found.setdefault(node.attr, []).append(node)
    return found


def stored_value(target: ast.Attribute, module: Module) -> ast.expr | None:
    """What an attribute is set to by an assignment of its own; None where it is set or deleted in another way."""
    parent = module.table.parents.get(target)
    if isinstance(parent, ast.Assign) and target in parent.targets:
        return parent.value
    return parent.value if isinstance(parent, ast.AnnAssign) else None


def set_by_name(modules: Iterable[Module]) -> frozenset[str]:
    """The names of attributes that modules set as texts; with "" where some text is only known when it runs."""
    return frozenset(name for module in modules for name in _names_set(module))


def _names_set(module: Module) -> Iterator[str]:
    for call in module.table.calls:
        known = last_name(call.func)
        if known in SETTERS and len(call.args) >= 2:
            name = call.args[-2 if known.endswith("setattr__") or known == "setattr" else -1]
            yield name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""
        elif known == "exec" or (known == "vars" and _is_changed(call, module)):
            yield ""
    for node in module.table.named.get("__dict__", ()):
        if not isinstance(node.ctx, ast.Load) or _is_changed(node, module):
            yield ""


def _is_changed(names: ast.expr, module: Module) -> bool:
    """Whether the attributes of an object, as a dictionary, may be set there: it is no argument, and not only read."""
    match module.table.parents.get(names):
        case ast.Subscript(ctx=ast.Load()) | ast.Compare() | ast.keyword(arg=None):
            return False
        case ast.Attribute(attr=attr):
            return attr not in READS
        case ast.Call(func=function):
            return function is names or last_name(function) not in READERS
        case ast.For() | ast.comprehension():
            return False
    return True
