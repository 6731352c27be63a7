"""Which mesh a map that is given none runs on: that of `jax.set_mesh`, as far as the program says which that is."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from jaxmigrate.program.library import last_names, named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, Argument, External

SETTERS = named("sets-mesh")
_LAST = last_names("sets-mesh")


class Entered(NamedTuple):
    """A call that sets the mesh of what runs after it, or within the `with` that it opens."""

    module: Module
    call: ast.Call
    mesh: Argument


def mesh_in_context(
    node: ast.AST, module: Module, resolver: Resolver, axes: Callable[[Argument], frozenset[str] | None]
) -> frozenset[str] | None:
    """The axes of the mesh in which an expression is evaluated; None where the program does not say, or says several.

    A `with` around it decides, then what its function sets, and else the whole program must set meshes of one kind.
    """
    around = _around(node, module, resolver)
    found = around or [e for one in resolver.project.program for e in entered(one, resolver)]
    kinds = {axes(one.mesh) for one in found}
    return kinds.pop() if len(kinds) == 1 else None


@once_each
def entered(module: Module, resolver: Resolver) -> list[Entered]:
    """The calls of a module that set a mesh."""
    return list(_entered(module, resolver))


def _entered(module: Module, resolver: Resolver) -> Iterator[Entered]:
    if not any(name in module.text for name in _LAST):
        return
    for name in _LAST:
        for node in module.table.named.get(name, ()):
            call = module.table.parents.get(node)
            if not isinstance(call, ast.Call) or call.func is not node:
                continue
            value = resolver.value(call, module)
            if not isinstance(value, Application) or not isinstance(value.callee, External):
                continue
            if value.callee.name in SETTERS and value.arguments:
                yield Entered(module, call, value.arguments[0])


def _around(node: ast.AST, module: Module, resolver: Resolver) -> list[Entered]:
    """What sets the mesh nearest to a node: a `with` that it stands in, or a call in a function that it stands in."""
    calls = {one.call: one for one in entered(module, resolver)}
    scope = module.table.scope_of.get(node)
    while calls and scope is not None and scope.kind != "module":
        inside = [one for one in calls.values() if module.table.scope_of.get(one.call) is scope]
        withs = [one for one in inside if _opens_around(one.call, node, module)]
        if withs or inside:
            return withs[-1:] or inside
        scope = scope.parent
    return [one for one in calls.values() if _opens_around(one.call, node, module)][-1:]


def _opens_around(call: ast.Call, node: ast.AST, module: Module) -> bool:
    """Whether a call opens a `with` that a node stands in."""
    above = module.table.parents.get(call)
    while isinstance(above, ast.withitem):
        above = module.table.parents.get(above)
    current: ast.AST | None = node
    while isinstance(above, ast.With) and current is not None:
        if current is above:
            return True
        current = module.table.parents.get(current)
    return False
