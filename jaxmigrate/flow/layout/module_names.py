"""What the modules of a project hold under their names, and which of these others see as well."""

from __future__ import annotations

import ast

from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import Scope

CONSUMERS = frozenset({"all", "any", "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple"})


def shared_names(module: Module) -> set[tuple[object, ...]]:
    """The variables of functions and of the module that some other function reads or binds."""
    found = rebound_names(module)
    for node in module.table.references:
        if isinstance(node, ast.Name):
            scope = module.table.scope_of[node]
            holder = scope.lookup(node.id)
            if holder is not None and (holder is not _frame_scope(scope) or is_late(scope, module)):
                found.add(("variable", holder.node, node.id))
    return found


def rebound_names(module: Module) -> set[tuple[object, ...]]:
    """The variables that some function binds by a global or nonlocal statement."""
    found: set[tuple[object, ...]] = set()
    for scope in {*module.table.own_scope.values()}:
        for name in scope.outer_names:
            holder = scope.parent.lookup(name) if scope.parent is not None else None
            found.add(("variable", (holder or scope.module()).node, name))
    return found


def _frame_scope(scope: Scope) -> Scope:
    while scope.kind == "comprehension" and scope.parent is not None:
        scope = scope.parent
    return scope


def is_late(scope: Scope, module: Module) -> bool:
    """Whether what stands in a scope may run later than where it stands: in a generator that is not used up at once."""
    while scope.kind == "comprehension" and scope.parent is not None:
        if isinstance(scope.node, ast.GeneratorExp) and not _is_used_up(scope.node, module):
            return True
        scope = scope.parent
    return False


def _is_used_up(node: ast.GeneratorExp, module: Module) -> bool:
    """Whether a generator is given to what takes all that it gives, there and then."""
    match module.table.parents.get(node):
        case ast.Call(func=ast.Name(id=name) as func, args=args) if name in CONSUMERS and node in args:
            return module.table.scope_of[func].lookup(name) is None
        case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="join")):
            return True
    return False


def imported_names(module: Module) -> set[str]:
    """Names that a module imports from others, or reads as attributes."""
    names = {n.attr for n in module.table.references if isinstance(n, ast.Attribute)}
    for bindings in [b for scope in module.table.own_scope.values() for b in scope.bindings.values()]:
        names |= {b.node.name for b in bindings if b.kind == "from" and isinstance(b.node, ast.alias)}
    if module.table.star_imports:
        names |= {n.id for n in module.table.references if isinstance(n, ast.Name)}
    return names
