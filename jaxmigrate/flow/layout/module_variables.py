"""What the variables of the project's modules hold for whoever reads them from elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.values import PLAIN, Abstract, Ext, Func, Mod, func
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import Scope
from jaxmigrate.program.star_imports import star_homes
from jaxmigrate.program.values import Class, Constant, External, Function, ModuleValue


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
    if module not in it.scope.known_modules:
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
    value = it.load(("variable", module.tree, name))
    odd = isinstance(value, Func) and is_set_by_name(it, name, module, module.table.root)
    return it.join(value, PLAIN, module.tree, module) if odd else value


def is_set_by_name(it: Interpreter, name: str, module: Module, holder: Scope) -> bool:
    """Whether a module's variable may hold something else, as code sets it by its name as a text."""
    if holder is not module.table.root:
        return False
    return bool(it.resolver.attributes.of_variable(holder.bindings.get(name, []), name, module))


def starred(it: Interpreter, name: str, sources: Iterable[Module], node: ast.AST, module: Module) -> Abstract | None:
    """What star imports from some modules of the project bring in under a name; None where none does."""
    homes = dict.fromkeys(home for source in sources for home in star_homes(it.resolver.project, source, name))
    found: Abstract | None = None
    for home in homes:
        value = it.settle(module_attribute(it, home, name), node, module)
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
