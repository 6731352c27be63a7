"""Attributes and modules' variables that a program may set without writing them: `setattr`, `vars(x)[name]`, `exec`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.layout.module_names import passes_modules
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver

SETTERS = {"setattr": 1, "__setattr__": 0}  # the position of the name; one more where the object is passed as well
MAPPINGS = frozenset({"__dict__", "vars"})
OWN = frozenset(
    {"__dict__", "__globals__", "globals", "locals", "vars"}
)  # `vars()` gives the module's own, as `__dict__` may
LOADS = frozenset(  # what gives modules as objects
    {"__import__", "__main__", "getmodule", "import_module", "module_from_spec", "modules", "reload", "resolve_name"}
)
SAID = ('"modules"', "'modules'")
READS = frozenset({"copy", "get", "items", "keys", "values"})
ANY = ""


class Names(NamedTuple):
    """The names that are set so; one that is empty stands for any."""

    of_objects: frozenset[str]
    of_modules: frozenset[str]  # by what reaches the variables of modules


def may_be(name: str, resolver: Resolver) -> bool:
    """Whether something may get another value so that goes by a name, if it is an attribute or a module's variable."""
    names = _names(resolver)
    on_objects, in_modules = ({ANY, name} & found for found in names)
    return bool((in_modules and _is_of_module(name, resolver)) or (on_objects and _is_of_object(name, resolver)))


def _is_of_module(name: str, resolver: Resolver) -> bool:
    """Whether a name is that of a module's variable."""
    modules = (one for one in resolver.project.program if name in one.text)
    return any(name in module.table.own_scope[module.tree].bindings for module in modules)


def _is_of_object(name: str, resolver: Resolver) -> bool:
    """Whether a name is that of an attribute, or of a variable of a class."""
    for module in (one for one in resolver.project.program if name in one.text):
        if any(isinstance(n, ast.Attribute) and n.attr == name and isinstance(n.ctx, ast.Store) for n in module.nodes):
            return True
        classes = (scope for scope in module.table.own_scope.values() if scope.kind == "class")
        if any(name in scope.bindings for scope in classes):
            return True
    return False


@once
def _names(resolver: Resolver) -> Names:
    program = resolver.project.program
    objects = frozenset(name for module in program for name in _of_objects(module))
    modules = frozenset(name for module in program for name in _of_variables(module))
    reached = any(_reaches_modules(module, resolver) for module in program)
    return Names(objects | modules, objects | modules if reached else modules)


def _reaches_modules(module: Module, resolver: Resolver) -> bool:
    """Whether code may set attributes of modules as it does those of any object: it passes one on, or asks for one."""
    asked = (node for name in LOADS for node in module.table.named.get(name, ()))
    if any(not _is_only_read(module.table.parents.get(node), module) for node in asked):
        return True
    imported = (b.node for b in module.table.imports if isinstance(b.node, ast.alias))
    renamed = any(alias.name in LOADS and alias.asname is not None for alias in imported)
    return renamed or any(one in module.text for one in SAID) or passes_modules(module, resolver.project)


def _is_only_read(call: ast.AST | None, module: Module) -> bool:
    """Whether a function's variable alone holds the module that a call gives, and is asked for attributes alone."""
    parents = module.table.parents
    statement = parents.get(call) if isinstance(call, ast.Call) else None
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        return False
    target = statement.targets[0] if len(statement.targets) == 1 else None
    scope = module.table.scope_of[target] if isinstance(target, ast.Name) else None
    if not isinstance(target, ast.Name) or scope is None or scope.kind != "function" or target.id in scope.outer_names:
        return False
    uses = [one for one in module.table.named.get(target.id, ()) if isinstance(one, ast.Name)]
    own = [one for one in uses if module.table.scope_of[one].lookup(target.id) is scope and one is not target]
    return all(_asks_attribute(one, parents.get(one)) for one in own)


def _asks_attribute(node: ast.Name, parent: ast.AST | None) -> bool:
    match parent:
        case ast.Attribute(ctx=ast.Load()):
            return True
        case ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[held, *_]):
            return held is node
    return False


def _of_objects(module: Module) -> Iterator[str]:
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


def _of_variables(module: Module) -> Iterator[str]:
    """The names that are set in the code's own module, or in any."""
    for word in OWN:
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
