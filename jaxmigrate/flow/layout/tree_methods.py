"""Mapped methods whose object is a tree of arrays: `@partial(jax.pmap, axis_name="data")` over a def of a pytree class.

The object is the first argument, mapped as any other: `model, info = model.update(batch)`. Which method a tree of
arrays has is a matter of its class, which is known in the end: of what a call replicates, and of what maps give back.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from jaxmigrate.flow.layout import class_index, classes, mapped
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, Given, SiteCall
from jaxmigrate.flow.layout.values import Abstract, Blocker, Plain, Ref
from jaxmigrate.program.library import named as functions
from jaxmigrate.program.modules import Module
from jaxmigrate.program.sites import listed
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Class

LOOKERS_UP = functions("by-name")


def is_one(it: Interpreter, site: ast.expr) -> bool:
    """Whether a site maps a method and its object, which is a tree of arrays."""
    cls = it.maps.methods.get(site)
    static = listed(it.sites[site], "static_broadcasted_argnums", it.resolver)
    return cls is not None and static is not None and 0 not in static and classes.is_pytree(it, cls)


def named(it: Interpreter, name: str) -> list[ast.expr]:
    """The sites that map such methods of a name, and none of whose calls are out of sight."""
    return [
        site
        for site in it.maps.methods
        if name_of(it, site) == name and site not in it.blockers.escaped and is_one(it, site)
    ]


def is_nested(site: ast.expr, read: ast.Attribute, it: Interpreter, module: Module) -> bool:
    """Whether an attribute is read in the body of a def under a map, where no map runs, while a site maps a tree."""
    if not is_one(it, site):
        return False
    scope = module.table.scope_of[read].function()
    while scope is not None:
        if any(one in it.sites for one in getattr(scope.node, "decorator_list", ())):
            return True
        scope = scope.parent.function() if scope.parent is not None else None
    return False


def name_of(it: Interpreter, site: ast.expr) -> str:
    """What a mapped method is called."""
    node = it.sites[site].module.table.parents[site]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return node.name


def of_class(it: Interpreter, cls: Class, name: str) -> ast.expr | None:
    """The site that the objects of a class, and of none that derives from it, have as a method of a name."""
    for holder in it.resolver.lineage(cls):
        bindings = holder.module.table.own_scope[holder.node].bindings.get(name, [])
        if bindings:
            defined = bindings[0].node if len(bindings) == 1 else None
            found = [site for site in named(it, name) if it.sites[site].module.table.parents[site] is defined]
            return found[0] if found else None
    return None


def called(it: Interpreter, owner: Abstract, name: str) -> ast.expr | None:
    """The site that a method of a tree of arrays may be, by its name; None where that cannot be told."""
    if isinstance(owner, Plain) and owner.cls is not None:
        return of_class(it, owner.cls, name) if not class_index.descendants(it, owner.cls) else None
    if not (isinstance(owner, Ref) or (isinstance(owner, Plain) and it.trust.likely)):
        return None
    found = named(it, name)
    return found[0] if len(found) == 1 else None


def call(it: Interpreter, site: ast.expr, owner: Abstract, given: Given, node: ast.Call, frame: Frame) -> Abstract:
    """A call of such a method, which the object is given to before all else."""
    assert isinstance(node.func, ast.Attribute)
    places = {place if isinstance(place, str) else place + 1: one for place, one in given.places.items()}
    whole = replace(given, positional=(owner, *given.positional), sure=given.sure + 1, places=places)
    if owner == Plain():
        it.lean(given.everything(), assumption(it, site, node, frame.module))
    return mapped.call_site(it, site, whole, node, frame, node.func.value)


def assumption(it: Interpreter, site: ast.expr, node: ast.Call, module: Module) -> Assumption:
    """That a method of what is not known is a mapped one of the project."""
    says = f"`{ast.unparse(node.func)}` is the mapped method of `{it.maps.methods[site].node.name}`"
    return Assumption("likely", "apart", "", says, module, node)


def gives_other(it: Interpreter, call: SiteCall, cls: Class | None) -> bool:
    """Whether an object of a class, or of one that is not known, may have another method than the mapped one."""
    value = call.arguments[0] if call.arguments else None
    if not isinstance(value, Ref) or not is_one(it, call.site) or not isinstance(call.node.func, ast.Attribute):
        return False
    return cls is None or of_class(it, cls, name_of(it, call.site)) is not call.site


def looked_up(it: Interpreter, site: ast.expr) -> Blocker | None:
    """Where the program may find a mapped method by its name: objects that are trees are not followed everywhere."""
    name = name_of(it, site)
    for module in it.modules:
        for call in module.table.calls:
            if it.idioms.called(call, module) not in LOOKERS_UP:
                continue
            named = call.args[1:2] or call.args[:1]
            known = [one.value for one in named if isinstance(one, ast.Constant)]
            if known != [name] and (known or it.trust.likely):
                continue
            reason = Stacked.REACHABLE.reason("may be found by its name")
            return Blocker(reason, module, call)
    return None
