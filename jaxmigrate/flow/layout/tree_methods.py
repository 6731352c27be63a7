"""Mapped methods whose object is a tree of arrays: `@partial(jax.pmap, axis_name="data")` over a def of a pytree class.

The object is the first argument, mapped as any other: `model, info = model.update(batch)`. Which method a tree of
arrays has is a matter of its class, which is known in the end: of what a call replicates, and of what maps give back.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from jaxmigrate.flow.layout import class_index, classes, mapped, mapped_bodies
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, Given, SiteCall
from jaxmigrate.flow.layout.values import Abstract, Blocker, Plain, Ref
from jaxmigrate.program.library import named as functions
from jaxmigrate.program.modules import Module
from jaxmigrate.program.sites import listed
from jaxmigrate.program.syntax import has_stars
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Class

TREES = re.compile(r"(?:^|_)(?:agents?|algos?|learners?|models?|nets?|networks?|policy|state|trainers?)(?:_|\d*$)")
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


def is_nested(read: ast.Attribute, it: Interpreter, module: Module) -> bool:
    """Whether an attribute is read in the body of a def under a map, where no map runs."""
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


def called(it: Interpreter, owner: Abstract, node: ast.Attribute, module: Module) -> ast.expr | None:
    """The site that a method of a tree of arrays may be, by its name; None where that cannot be told."""
    if isinstance(owner, Plain) and owner.cls is not None:
        return of_class(it, owner.cls, node.attr) if not class_index.descendants(it, owner.cls) else None
    if not isinstance(owner, Plain | Ref):
        return None
    found = named(it, node.attr)
    if len(found) != 1 or (isinstance(owner, Plain) and not _seems_one(it, found[0], node, module)):
        return None
    return found[0]


def _seems_one(it: Interpreter, site: ast.expr, node: ast.Attribute, module: Module) -> bool:
    """Whether a reader takes a method of what is not known for a mapped one: by its object's name, its arguments."""
    call, function = module.table.parents.get(node), mapped_bodies.mapped_function(it, site)
    if not it.trust.likely or not isinstance(call, ast.Call) or call.func is not node or function is None:
        return False
    names, spec = function.passed_names(), function.node.args
    given = 1 + len(call.args) + len(call.keywords)
    fits = len(names) - len(spec.defaults) <= given <= len(names) and not has_stars(call)
    return fits and _is_named_like_one(node) and is_only(it, site)


def _is_named_like_one(node: ast.Attribute) -> bool:
    """Whether what an attribute is read from has the name of something that learns."""
    owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
    return TREES.search(owner.lower()) is not None


def is_only(it: Interpreter, site: ast.expr) -> bool:
    """Whether no other class in sight has a method of the name of a mapped one."""
    name, found = name_of(it, site), 0
    for module in it.modules:
        scopes = (scope for scope in module.table.own_scope.values() if scope.kind == "class")
        found += sum(name in scope.bindings for scope in scopes)
    return found == 1


def unlike(it: Interpreter, read: ast.Attribute, module: Module) -> bool:
    """Whether a reader takes what an attribute is read from for no object that has such a method, which is told."""
    call = module.table.parents.get(read)
    if not it.trust.likely or not isinstance(call, ast.Call) or call.func is not read or _is_named_like_one(read):
        return False
    says = f"`{ast.unparse(read)}` is no mapped method of the project"
    it.assumed.apart.setdefault(module, {})[Assumption("likely", "apart", "", says, module, read)] = None
    it.leans = True
    return True


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
