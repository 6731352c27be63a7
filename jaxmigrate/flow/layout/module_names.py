"""What the modules of a project hold under their names, and which of these others see as well."""

from __future__ import annotations

import ast

from jaxmigrate.program.functions import is_static
from jaxmigrate.program.modules import Module, Project
from jaxmigrate.program.scopes import Attribute, Scope
from jaxmigrate.program.star_imports import starred_names

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


def imported_names(module: Module, project: Project) -> set[str]:
    """Names that a module imports from others, or reads as attributes; by a star, all that it does not bind."""
    names = {n.attr for n in module.table.references if isinstance(n, ast.Attribute)}
    for bindings in [b for scope in module.table.own_scope.values() for b in scope.bindings.values()]:
        names |= {b.node.name for b in bindings if b.kind == "from" and isinstance(b.node, ast.alias)}
    if module.table.star_imports:
        read = {n.id for n in module.table.references if isinstance(n, ast.Name)}
        names |= read - (module.table.root.bindings.keys() - starred_names(project, module))
    return names


def assigned_names(module: Module) -> tuple[set[str], set[str]]:
    """The names of attributes that a module sets: of what may be a module, and of the objects of methods, by `self`."""
    found: tuple[set[str], set[str]] = (set(), set())
    for attribute in module.table.attributes:
        found[_is_of_its_object(attribute)].add(attribute.attr)
    return found


def _is_of_its_object(attribute: Attribute) -> bool:
    """Whether an attribute is set of the object that a method is called on: of its first parameter."""
    owner = attribute.target
    holder = attribute.scope.lookup(owner.id) if isinstance(owner, ast.Name) else None
    if holder is None or not isinstance(owner, ast.Name) or not isinstance(holder.node, ast.FunctionDef):
        return False
    taken = [*holder.node.args.posonlyargs, *holder.node.args.args]
    of_class = holder.parent is not None and holder.parent.kind == "class" and not is_static(holder.node)
    return of_class and bool(taken) and taken[0].arg == owner.id and len(holder.bindings[owner.id]) == 1


def passes_modules(module: Module, project: Project) -> bool:
    """Whether a module does more with another one of the project than to read its attributes by name."""
    for binding in module.table.imports:
        alias = binding.node
        if not isinstance(alias, ast.alias) or alias.name == "*" or project.imported_path(alias, module) is None:
            continue
        name = alias.asname or alias.name.partition(".")[0]
        if any(_is_passed(one, module, project) for one in module.table.named.get(name, ())):
            return True
    return False


def _is_passed(name: ast.AST, module: Module, project: Project) -> bool:
    """Whether what begins with the name of a module, `lib` or `package.lib`, ends with one."""
    if not isinstance(name, ast.Name):
        return False
    node: ast.AST = name
    while isinstance(parent := module.table.parents.get(node), ast.Attribute) and parent.value is node:
        node = parent
    return node is name or project.find(module, ast.unparse(node)) is not None
