"""Where a program enters a mesh, by `with mesh:` or the like, and where it makes one without telling its axes' kind."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.program.collectives import MAKE_MESH, MESHES
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import denotes
from jaxmigrate.program.syntax import has_stars
from jaxmigrate.program.values import Application, External

CONTEXT = "jax.sharding.Mesh.__enter__"
AXIS_TYPES = "jax.make_mesh.axis_types"
WRITTEN_FOR_EXPLICIT = ("Explicit", "reshard", "out_sharding", "typeof", "explicit_axes", "get_abstract_mesh")


class MeshContext(NamedTuple):
    """A mesh that a `with` or an exit stack enters, and what the statement binds it to, if anything.

    `by_hand` says that the program calls its `__enter__` itself.
    """

    mesh: ast.expr
    target: ast.expr | None
    statement: ast.With | ast.Call
    by_hand: bool = False


@once_each
def mesh_contexts(module: Module, resolver: Resolver) -> list[MeshContext]:
    """The meshes that a module enters: calls that make one, what such a call is bound to, and what is called a mesh."""
    return list(_contexts(module, resolver))


def _contexts(module: Module, resolver: Resolver) -> Iterator[MeshContext]:
    text = module.text
    if "mesh" not in text.lower() or "jax" not in text or not ("with" in text or "enter" in text):
        return
    for node in module.table.parents:
        if isinstance(node, ast.With):
            for item in node.items:
                if _is_mesh(item.context_expr, module, resolver):
                    yield MeshContext(item.context_expr, item.optional_vars, node)
    for call in module.table.calls if "enter" in text else ():
        yield from _entered(call, module, resolver)


def _entered(call: ast.Call, module: Module, resolver: Resolver) -> Iterator[MeshContext]:
    """The mesh that `stack.enter_context(mesh)` or `mesh.__enter__()` enters."""
    match call:
        case ast.Call(func=ast.Attribute(attr="enter_context"), args=[mesh], keywords=[]):
            by_hand = False
        case ast.Call(func=ast.Attribute(value=mesh, attr="__enter__"), args=[], keywords=[]):
            by_hand = True
        case _:
            return
    if _is_mesh(mesh, module, resolver):
        yield MeshContext(mesh, None, call, by_hand)


def _is_mesh(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    if not isinstance(node, ast.Name | ast.Attribute | ast.Call):
        return False
    values = resolver.values(node, module)
    made = [isinstance(v, Application) and isinstance(v.callee, External) and v.callee.name in MESHES for v in values]
    if any(made):
        return True
    if isinstance(node, ast.Call) or all(isinstance(v, External) for v in values):
        return False
    name = node.id if isinstance(node, ast.Name) else node.attr
    unseen = all(not isinstance(v, Application) for v in values)
    return unseen and name.lower().endswith("mesh") and "Mesh" in module.text


def runs_in_jit(node: ast.AST, module: Module, resolver: Resolver) -> bool:
    """Whether a function around a node is decorated by `jit` or `pjit`, or given to one by its name."""
    around = module.table.parents.get(node)
    while around is not None:
        if isinstance(around, ast.FunctionDef):
            if any(_jits(decorator, module, resolver) for decorator in around.decorator_list):
                return True
            given = [c for c in module.table.calls if _jits(c.func, module, resolver)]
            if any(isinstance(a, ast.Name) and a.id == around.name for c in given for a in c.args):
                return True
        around = module.table.parents.get(around)
    return False


def _jits(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    return any(
        isinstance(n, ast.Name | ast.Attribute)
        and denotes(n, resolver, module) in ("jax.jit", "jax.experimental.pjit.pjit")
        for n in ast.walk(node)
    )


def untyped_meshes(module: Module, resolver: Resolver) -> Iterator[ast.Call]:
    """The calls of `make_mesh` that do not say of what kind the axes are."""
    for call in module.table.calls if "make_mesh" in module.text else ():
        if isinstance(call.func, ast.Name | ast.Attribute) and denotes(call.func, resolver, module) == MAKE_MESH:
            told = len(call.args) > 2 or any(k.arg == "axis_types" for k in call.keywords)
            if not told and not has_stars(call):
                yield call
