"""A map in the body of what another one maps: whether one mesh of two axes can replace both.

The map around gets a mesh of two axes, over the second of which all that it holds is replicated. The map inside takes
the row of its own place along that axis, and gathers its results so that they are replicated again, which is what
jax.pmap itself did before 0.8. How many rows there are shows only when the body is traced, so the map inside asks for
its axis by an exception, and the map around traces once more with it.

A gradient through that would count each device's share of a replicated value as if it were all of it; the emitted code
refuses it at run time, and a gradient that can be seen is a reason to leave the maps as they are.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from jaxmigrate.migrate.nesting import certain, functions_reached, maps_inside, maps_reached
from jaxmigrate.program.library import named
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.sites import MappedSite, axis_of
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Application, Constant, External

UNNAMED = "none"
KEYWORDS = frozenset({"axis_name", "in_axes", "out_axes", None})
DIFFERENTIATIONS = named("gradient", "jacobian", "linear-map")
MOST_STEPS = 200


@dataclass(frozen=True, slots=True, eq=False)
class Inside:
    """The maps inside what a site maps, and why one mesh of two axes cannot replace them; empty where it can."""

    sites: tuple[MappedSite, ...]
    reason: str


def inside(
    site: MappedSite, by_node: Mapping[ast.expr, MappedSite], resolver: Resolver, processes: bool
) -> Inside | None:
    """What a site's function maps itself; None where it maps nothing. `by_node` holds the sites of the module."""
    maps = maps_inside(site, resolver)
    if not maps:
        return None
    where = f"{maps[0].module.path.name}:{maps[0].node.lineno}"
    sites = tuple(by_node[m.node] for m in maps if m.node in by_node)
    reason = (
        _reason_at(maps, sites, site, resolver)
        or (
            "; fix does not rewrite nested maps of programs with several processes; map once over a mesh with two axes"
            if processes
            else ""
        )
        or _reason_around(maps, sites, site, _around(maps, by_node, resolver), resolver)
    )
    return Inside(sites, reason and f"maps a function that itself calls pmap ({where}){reason}")


def _around(
    maps: Sequence[Application], by_node: Mapping[ast.expr, MappedSite], resolver: Resolver
) -> frozenset[ast.expr]:
    """Every site of the module that maps something which comes to one of these maps."""
    nodes = {m.node for m in maps}
    return frozenset(n for n, site in by_node.items() if any(m.node in nodes for m in maps_inside(site, resolver)))


def _reason_at(maps: Sequence[Application], sites: Sequence[MappedSite], site: MappedSite, resolver: Resolver) -> str:
    """What one of the maps inside has that cannot be replaced."""
    if len(sites) < len(maps):
        return " in another module; move the inner map into this module and run fix again"
    if any(inner.reference is None for inner in sites):
        return " through an alias; call jax.pmap there by its name and run fix again"
    given = {a.keyword for inner in sites for a in inner.arguments} - KEYWORDS
    if given:
        return f" with {_listed(given)}, which only an outermost map can have; remove it and run fix again"
    if any(maps_inside(inner, resolver) for inner in sites):
        return ", which maps a third function; map once over a mesh with three axes and run fix again"
    names = {_axis(inner, resolver) for inner in sites}
    if len(names) > 1:
        return f" over axes with different names ({_listed(names)}); give the inner maps one name and run fix again"
    if names == {_axis(site, resolver)} != {UNNAMED}:
        return " over an axis of the same name; give one of the two axes another name and run fix again"
    return ""


def _listed(names: Collection[str | None]) -> str:
    return ", ".join(sorted({"*": "starred arguments", "**": "starred arguments"}.get(n or "", n or "") for n in names))


def _axis(site: MappedSite, resolver: Resolver) -> str:
    axis = axis_of(site, resolver)
    if axis is None:
        return f"None in line {site.node.lineno}" if site.keyword("axis_name") else UNNAMED
    if isinstance(axis, Constant):
        return repr(axis.value)
    argument = site.keyword("axis_name")
    expression = argument.expression if argument is not None else None
    return site.module.segment(expression) if expression is not None else "unknown"


def _reason_around(
    maps: Sequence[Application],
    sites: Sequence[MappedSite],
    site: MappedSite,
    around: frozenset[ast.expr],
    resolver: Resolver,
) -> str:
    """What the program does with the maps that a mesh of two axes does not allow."""
    nodes = {*around, *(m.node for m in maps)}
    for module in resolver.project.program:
        for call in module.table.calls:
            callee = resolver.value(call.func, module)
            if isinstance(callee, External) and callee.name in DIFFERENTIATIONS and call.args:
                values = resolver.values(call.args[0], module)
                if any(m.node in nodes for m in maps_reached(values, resolver)):
                    line = f"{module.path.name}:{call.lineno}"
                    return (
                        f", and is differentiated ({line}); take the gradient inside the inner mapped function instead"
                    )
    use = _Use(site, around, {m.node for m in maps}, resolver)
    if any(isinstance(node, ast.Try) for function in use.between for node in ast.walk(function)):
        return (
            " in a function with a try, which may catch the exception by which the rewritten inner map asks for its "
            "mesh axis; move the map out of that function"
        )
    if not all(use.stays(inner) for inner in sites):
        return ", and a function between the two maps is also called elsewhere; copy it for that use and run fix again"
    return ""


class _Use:
    """Follows where the functions between two maps go: all of it has to end inside a map around."""

    def __init__(
        self, site: MappedSite, around: frozenset[ast.expr], inner: Collection[ast.expr], resolver: Resolver
    ) -> None:
        self.around = around
        self.module = site.module
        self.resolver = resolver
        functions = functions_reached(certain(site, resolver), resolver)
        self.between = [f.node for f in functions if any(m.node in inner for m in maps_reached((f,), resolver))]
        self.steps = 0

    def stays(self, inner: MappedSite) -> bool:
        """Whether a map inside, and every function on the way to it, is used under the map around only."""
        return self._goes(inner.node, False) and all(self._kept(function) for function in self.between)

    def _kept(self, function: FunctionNode) -> bool:
        if isinstance(function, ast.Lambda):
            return self._goes(function, False)
        if self._within(function):
            return True
        if function.decorator_list:
            return not self.around.isdisjoint(function.decorator_list)
        return self._named(function.name, False)

    def _within(self, node: ast.AST) -> bool:
        """Whether a node stands in the body of a function between the maps."""
        below, above = node, self.module.table.parents.get(node)
        while above is not None:
            if above in self.between and below not in getattr(above, "decorator_list", ()):
                return True
            below, above = above, self.module.table.parents.get(above)
        return False

    def _named(self, name: str, made: bool) -> bool:
        """Whether all uses of a name stay; `made` says that it is called to make what is followed."""
        word = re.compile(rf"\b{re.escape(name)}\b")
        stem = self.module.path.stem
        if any(m is not self.module and stem in m.text and word.search(m.text) for m in self.resolver.project.program):
            return False
        uses = [n for n in self.module.table.references if last_name(n) == name]
        return all(self._goes(n, made) for n in uses if isinstance(n.ctx, ast.Load))

    def _goes(self, node: ast.expr, made: bool) -> bool:
        """Whether the value of an expression ends up inside the map around."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            return False
        if self._within(node):
            return True
        parent = self.module.table.parents.get(node)
        match parent:
            case ast.keyword():
                return self._passed(self.module.table.parents.get(parent))
            case ast.Call(func=func):
                return (made and self._goes(parent, False)) if func is node else self._passed(parent)
            case ast.Assign(targets=[ast.Name(id=name)]) if not self._of_class(parent):
                return self._named(name, made)
            case ast.Return():
                return self._returned(parent)
            case ast.FunctionDef(decorator_list=decorators, name=name) if node in decorators:
                return not self.around.isdisjoint(decorators) or self._named(name, made)
        return False

    def _of_class(self, statement: ast.AST) -> bool:
        return isinstance(self.module.table.parents.get(statement), ast.ClassDef)

    def _passed(self, call: ast.AST | None) -> bool:
        """As the map around's argument all has to end; as that of partial, jit or vmap it goes on with the result."""
        return call in self.around or (isinstance(call, ast.Call) and self._goes(call, False))

    def _returned(self, statement: ast.AST) -> bool:
        above = self.module.table.parents.get(statement)
        while above is not None and not isinstance(above, ast.FunctionDef):
            above = self.module.table.parents.get(above)
        return above is not None and not above.decorator_list and self._named(above.name, True)
