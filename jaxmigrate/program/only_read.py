"""Whether a program does nothing with a dictionary or a list but to read its entries."""

from __future__ import annotations

import ast

from jaxmigrate.program.modules import Module, Project

READS = frozenset({"get", "keys", "items", "values", "copy", "index", "count"})
READERS = frozenset({"print", "dict", "len", "sorted", "list", "tuple", "str", "deepcopy", "dump", "dumps", "pprint"})
LIBRARIES = frozenset({"copy", "json", "pickle", "pprint", "yaml"})


def is_only_read(name: ast.Name, module: Module, project: Project) -> bool:
    """Whether nothing in sight changes what a name holds, or hands it to something that may."""
    holder = module.table.scope_of[name].lookup(name.id)
    if holder is None:
        return False
    if holder.kind == "module":
        others = (one for one in project.program if one is not module and name.id in one.text)
        if any(not _is_read(use, one) for one in others for use in _uses(name.id, one)):
            return False
    own = (one for one in _uses(name.id, module) if _is_of(one, holder, module))
    return all(_is_read(one, module) for one in own)


def is_only_read_here(name: ast.Name, module: Module) -> bool:
    """Whether a name is a function's own that is bound once, and nothing changes what it holds, or gets it."""
    holder = module.table.scope_of[name].lookup(name.id)
    if holder is None or holder.kind != "function" or len(holder.bindings.get(name.id, ())) != 1:
        return False
    own = (one for one in _uses(name.id, module) if _is_of(one, holder, module))
    return all(_is_read(one, module) for one in own)


def _uses(name: str, module: Module) -> list[ast.Name | ast.Attribute]:
    return [one for one in module.table.named.get(name, ()) if isinstance(one.ctx, ast.Load)]


def _is_of(use: ast.Name | ast.Attribute, holder: object, module: Module) -> bool:
    return isinstance(use, ast.Name) and module.table.scope_of[use].lookup(use.id) is holder


def _is_read(use: ast.expr, module: Module) -> bool:
    """Whether a use of a container leaves it as it is, and hands it to nobody."""
    match module.table.parents.get(use):
        case ast.Subscript(ctx=ast.Load(), value=value) if value is use:
            return True
        case ast.Attribute(attr=attr) as method if attr in READS:
            call = module.table.parents.get(method)
            return isinstance(call, ast.Call) and call.func is method
        case ast.Compare() | ast.FormattedValue() | ast.keyword(arg=None) | ast.For() | ast.comprehension():
            return True
        case ast.Call() as call:
            return call.func is not use and reads_alone(call, module)
    return False


def reads_alone(call: ast.Call, module: Module) -> bool:
    """Whether a call only reads a dictionary or a list: a builtin, or what a module of Python's own or for YAML has.

    A function of the program's may have the same name.
    """
    match call.func:
        case ast.Name(id=name) if name in READERS:
            holder = module.table.scope_of[call.func].lookup(name)
            return holder is None or all(_is_from_library(one.node, name) for one in holder.bindings[name])
        case ast.Attribute(value=ast.Name(id=owner) as name, attr=attr) if attr in READERS:
            holder = module.table.scope_of[name].lookup(owner)
            return holder is not None and all(_is_from_library(one.node, owner) for one in holder.bindings[owner])
    return False


def _is_from_library(node: ast.AST, name: str) -> bool:
    """Whether a name is bound by the import of such a module, or from it."""
    match node:
        case ast.alias(name=full, asname=other):
            return full in LIBRARIES and name == (other or full)
        case ast.Import(names=names):
            return any(_is_from_library(one, name) for one in names)
        case ast.ImportFrom(module=source, level=0):
            return source in LIBRARIES
    return False
