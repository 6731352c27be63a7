"""Whether what a map names still stands for the same when the map is called."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from jaxmigrate.migrate.map_places import MapPlaces
from jaxmigrate.migrate.maps import MapPlan
from jaxmigrate.migrate.names import names_in
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Class, External, Function, ModuleValue

Named = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, eq=False)
class StableNames:
    """The names and attributes of one file, as far as code of the project sets them anew."""

    module: Module
    resolver: Resolver
    places: MapPlaces

    def is_stable(self, plan: MapPlan, nodes: Sequence[ast.expr]) -> bool:
        """Whether names that a function reads when it is called still stand for what they do where it is made."""
        more = [n for n in (plan.axis, *(() if plan.mesh else (plan.devices, plan.backend))) if isinstance(n, ast.expr)]
        for node in nodes:
            if not isinstance(node, ast.Name | ast.Attribute | ast.Lambda) and not _is_plain(node):
                return False
            if isinstance(node, ast.Attribute) and not self._is_known(node):
                return False  # it may be something else by the time of the call
            if isinstance(node, ast.Lambda) and not all(map(self._is_kept, _defaults(node))):
                return False
        read = [n for node in nodes if not isinstance(node, ast.Lambda) for n in ast.walk(node)]
        if any(isinstance(n, ast.Attribute) and self._is_set(n, plan.site.node) for n in read):
            return False
        if any(isinstance(n, ast.Name) and n.id == "super" for n in read):
            return False  # which finds its method's object in no function within it
        named = [n for node in nodes for n in (_defaults(node) if isinstance(node, ast.Lambda) else [node])]
        return all(
            self._is_fixed(name) for name in names_in([*named, *more])
        )  # a lambda reads its own when it is called

    def _is_kept(self, default: ast.expr) -> bool:
        """Whether a default, which a lambda evaluates once, would be the same later, as far as its names are."""
        return isinstance(default, ast.Name | ast.Constant) or (
            isinstance(default, ast.Attribute) and self._is_known(default)
        )

    def _is_known(self, node: ast.Attribute) -> bool:
        """Whether an attribute is a method of the program, a function of a module, or of an object that none changes.

        That is one bound once at the module's top. What a function is given may be changed out of sight.
        """
        value = self.resolver.value(node, self.module)
        if isinstance(value, Function | External):
            return not _is_set_by_name(node.attr, self.resolver)
        owner: ast.expr = node
        while isinstance(owner, ast.Attribute):
            if _set_attributes(self.resolver).get(owner.attr) or _is_set_by_name(owner.attr, self.resolver):
                return False
            owner = owner.value
        scope = self.module.table.scope_of.get(owner)
        holder = scope.lookup(owner.id) if isinstance(owner, ast.Name) and scope is not None else None
        root = self.module.table.root
        return isinstance(owner, ast.Name) and holder is root and len(root.bindings.get(owner.id, ())) == 1

    def _is_set(self, read: ast.Attribute, site: ast.expr) -> bool:
        """Whether some code sets an attribute other than once before a site, in the same function."""
        own = self.places.holder(site)
        of_class = isinstance(self.resolver.value(read.value, self.module), Class)
        for node, module in _set_attributes(self.resolver).get(read.attr, ()):
            if of_class and isinstance(node.value, ast.Name) and node.value.id == "self":
                continue  # which hides what the class has, and does not change it
            before = module is self.module and node.lineno < site.lineno
            if not before or self.places.holder(node) is not own or self.in_loop(node):
                return True
        return False

    def _is_set_from_elsewhere(self, name: str) -> bool:
        """Whether some code sets a name of this module as its attribute."""
        places = _set_attributes(self.resolver).get(name, ())
        return any(self.resolver.value(node.value, module) == ModuleValue(self.module) for node, module in places)

    def _is_fixed(self, name: ast.Name) -> bool:
        scope = self.module.table.scope_of.get(name)
        holder = scope.lookup(name.id) if scope is not None else None
        if holder is None:
            return True
        if holder.kind == "comprehension":
            return False  # which goes on to its next value before the call
        if holder is self.module.table.root and self._is_set_from_elsewhere(name.id):
            return False
        bindings = holder.bindings.get(name.id, [])
        kinds = {binding.kind for binding in bindings}
        return (
            len(bindings) == 1
            and not kinds & {"for", "loop", "with", "except", "delete", "target"}
            and not self.in_loop(bindings[0].node)
        )

    def in_loop(self, node: ast.AST) -> bool:
        """Whether some code stands in a loop of its function."""
        return self.module.table.loop_of(node) is not None


def _is_plain(node: ast.expr) -> bool:
    """Whether an expression may be evaluated again at each call: a partial of names."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Call) and ast.unparse(node.func) in (
        "functools.partial",
        "partial",
        "jax.vmap",
        "vmap",
        "jax.jit",
    ):
        parts = [*node.args, *(k.value for k in node.keywords)]
        if any(k.arg is None for k in node.keywords):
            return False  # a partial keeps what a dict holds when it is made
        return all(isinstance(p, ast.Name | ast.Attribute | ast.Constant | ast.Lambda) or _is_plain(p) for p in parts)
    return isinstance(node, ast.Tuple) and all(map(_is_plain, node.elts))


def _defaults(node: ast.Lambda) -> list[ast.expr]:
    return [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]


@once
def _set_attributes(resolver: Resolver) -> dict[str, list[tuple[ast.Attribute, Module]]]:
    """By name, the places in the project where attributes are set."""
    found: dict[str, list[tuple[ast.Attribute, Module]]] = {}
    for module in resolver.project.program:
        for node in module.nodes:
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                found.setdefault(node.attr, []).append((node, module))
    return found


def _is_set_by_name(name: str, resolver: Resolver) -> bool:
    """Whether `setattr` may set an attribute of that name: it says so, or which one it sets of what is not written."""
    return not _set_by_name(resolver).isdisjoint({name, ""})


@once
def _set_by_name(resolver: Resolver) -> frozenset[str]:
    """The attributes that `setattr` sets in the project, empty for one whose name is not written; self sets its own."""
    found: set[str] = set()
    for module in resolver.project.program:
        for node in module.table.named.get("setattr", ()):
            call = module.table.parents.get(node)
            match call:
                case ast.Call(args=[_, ast.Constant(value=str(name)), _]):
                    found.add(name)
                case ast.Call(args=[ast.Name(id="self"), *_]):
                    pass
                case _:
                    found.add("")
    return frozenset(found)
