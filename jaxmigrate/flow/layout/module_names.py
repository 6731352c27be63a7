"""What the modules of a project hold under their names, and which of these others see as well."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from jaxmigrate.flow.layout.values import PLAIN, Abstract, Ext, Func, Mod, func
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import Scope
from jaxmigrate.program.values import Class, Constant, External, Function, ModuleValue

if TYPE_CHECKING:
    from jaxmigrate.flow.layout.interpreter import Interpreter

CONSUMERS = frozenset({"all", "any", "dict", "frozenset", "list", "max", "min", "set", "sorted", "sum", "tuple"})


def module_attribute(it: Interpreter, module: Module, name: str) -> Abstract:
    """What `module.name` can hold: a variable of a module of the project."""
    library = it.idioms.library_module(module)
    if library:
        return func(Ext(f"{library}.{name}"))
    if name in module.table.root.bindings:
        return _variable_of(it, module, name)
    found = it.resolver.module_attribute(module, name)
    if len(found) == 1 and isinstance(found[0], ModuleValue):
        return func(Mod(found[0].module))
    return PLAIN


def _variable_of(it: Interpreter, module: Module, name: str) -> Abstract:
    """A variable of a module; one that has no part in anything (yet) is told what it is without being run."""
    if module not in it.known_modules:
        found = it.resolver.module_attribute(module, name)
        defs = [v for v in found if isinstance(v, Class) or (isinstance(v, Function) and _is_bare(v))]
        if defs and len(defs) == len(found):
            it.reads.add(("variable", module.tree, name))
            return Func(frozenset(defs))
        if len(found) == 1 and isinstance(found[0], ModuleValue):
            return func(Mod(found[0].module))
        if len(found) == 1 and isinstance(found[0], External):
            return func(Ext(found[0].name))
        set_elsewhere = ("variable", module.tree, name) in it.variables
        if found and all(isinstance(v, Constant) for v in found) and not set_elsewhere:
            it.reads.add(("variable", module.tree, name))
            return PLAIN
        it.join_module(module)
    return it.load(("variable", module.tree, name))


def starred(it: Interpreter, name: str, sources: Iterable[Module], node: ast.AST, module: Module) -> Abstract | None:
    """What star imports from some modules of the project bring in under a name; None where none does."""
    homes = dict.fromkeys(home for source in sources for home in it.resolver.star_homes(source, name))
    found: Abstract | None = None
    for home in homes:
        value = module_attribute(it, home, name)
        found = value if found is None else it.join(found, value, node, module)
    return found


def star_sources(it: Interpreter, module: Module) -> list[Module]:
    """The modules of the project from which a module imports all names."""
    stars = module.table.star_imports
    found = [it.resolver.project.imported(module, node.module or "", node.level) for node in stars]
    return [source for source in found if source is not None and source is not module]


def _is_bare(function: Function) -> bool:
    """Whether a function is what its def says, under no decorator."""
    return isinstance(function.node, ast.FunctionDef) and not function.node.decorator_list


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
