"""Meshes: entered by `jax.set_mesh` instead of `with mesh:`, and made with the kind of axes that they always had."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from jaxmigrate.flow.meshes import mesh_call
from jaxmigrate.migrate.api_updates.calls import given, set_keyword
from jaxmigrate.migrate.api_updates.rewrite_context import KEPT_HERE, RewriteContext, is_kept
from jaxmigrate.migrate.api_updates.texts import Texts
from jaxmigrate.migrate.wanted import Wanted
from jaxmigrate.program.imports import imported_files, loaded
from jaxmigrate.program.mesh_contexts import (
    AXIS_TYPES,
    CONTEXT,
    WRITTEN_FOR_EXPLICIT,
    MeshContext,
    mesh_contexts,
    runs_in_jit,
    untyped_meshes,
)
from jaxmigrate.program.modules import Module
from jaxmigrate.program.old_names import Release, old_names
from jaxmigrate.program.old_uses import is_guarded
from jaxmigrate.program.once import once_each
from jaxmigrate.program.operations import Replace, Unbind, code
from jaxmigrate.program.resolve import Resolver

EXPLICIT = (0, 9, 0)
IN_FORCE = "thread_resources"
HOLDS_IT = re.compile(r"\bpxla\b|\b_src(?:\.| import )mesh\b|\bexperimental(?:\.| import )maps\b")
BY_NAME = re.compile(r"\b(?:attrgetter|eval|exec|getattr|getmembers|vars)\b|__dict__")
GIVEN = re.compile(r"\bmesh=(?:\w+\.)*(\w+(?:\(\))?)")


def enter_meshes(desk: RewriteContext, texts: Texts) -> None:
    """Puts `jax.set_mesh` around the meshes that a module enters."""
    row = old_names()[CONTEXT]
    for context in mesh_contexts(desk.module, desk.resolver):
        if is_guarded(context.statement, desk.module):
            continue
        reason = context_reason(context, desk.module, desk.resolver, desk.target, desk.wanted, texts)
        name = desk.name_of("jax.set_mesh", context.mesh) if not reason else None
        if name is None:
            desk.leave(context.mesh, row, reason)
            continue
        bound = f"{context.target.id} := " if isinstance(context.target, ast.Name) else ""
        desk.operations.append(Replace(context.mesh, code(f"{name}({bound}$itself)")))
        if isinstance(context.statement, ast.With) and bound:
            item = next(item for item in context.statement.items if item.context_expr is context.mesh)
            desk.operations.append(Unbind(item))
        desk.done(context.mesh, row)


def context_reason(
    context: MeshContext,
    module: Module,
    resolver: Resolver,
    target: Release | None,
    wanted: Wanted,
    texts: Texts,
) -> str:
    """Why a mesh is still entered by `with mesh:`, empty where it need not be."""
    row = old_names()[CONTEXT]
    if is_kept(context.mesh, row, module, wanted):
        return KEPT_HERE
    if not row.holds_for(target):
        return f"{row.told}, which needs jax {row.needs}, but the code must run on an older one"
    if context.by_hand:
        return f"{row.told}; to enter it without a with statement, call jax.set_mesh(mesh)"
    if context.target is not None and not isinstance(context.target, ast.Name):
        return f"{row.told}; assign the mesh to a variable before the with statement, and run fix again"
    if runs_in_jit(context.statement, module, resolver):
        return f"{row.told} outside of jit; inside jit, use NamedSharding(mesh, spec)"
    if texts.mention(IN_FORCE) or any(map(_may_ask_for_it, (*texts.texts, *_loaded(module, resolver)))):
        return (
            f"{row.told}, which `{IN_FORCE}` does not see, and some file asks that which mesh is in force; "
            "ask jax.sharding.get_abstract_mesh() there and run fix again"
        )
    if _given(module, resolver) - {ast.unparse(context.mesh).rpartition(".")[2], "None"}:
        return f"{row.told}, within which a shard_map with another mesh raises; move calls of such out of it first"
    return ""


def _may_ask_for_it(text: str) -> bool:
    """Whether a file asks which mesh is in force, or something of a module that says so by a name in a text."""
    return IN_FORCE in text or (HOLDS_IT.search(text) is not None and BY_NAME.search(text) is not None)


@once_each
def _loaded(module: Module, resolver: Resolver) -> list[str]:
    """The texts of the project that a module imports, and those that these import."""
    project = resolver.project
    return [project.text(path) or "" for path in loaded(module.path, module.text, project)]


def _given(module: Module, resolver: Resolver) -> set[str]:
    """The last names of the meshes that maps of a module, or of one that it imports, are given."""
    project = resolver.project
    beside = (project.text(path) or "" for path in imported_files(module.path, module.text, project))
    return {name for text in (module.text, *beside) if "shard_map" in text for name in GIVEN.findall(text)}


def contexts_left(
    modules: Iterable[Module], resolver: Resolver, target: Release | None, wanted: Wanted, texts: Texts
) -> bool:
    """Whether some mesh of a project is still entered by `with mesh:`, which sets none for `jax.jit`."""
    return any(
        context_reason(context, module, resolver, target, wanted, texts)
        for module in modules
        for context in mesh_contexts(module, resolver)
    )


def keep_axes_auto(desk: RewriteContext, texts: Texts) -> None:
    """Says that the axes of meshes are Auto, which they no longer are by default, in code that knows no others."""
    if (desk.target or ()) >= EXPLICIT or any(texts.mention(word) for word in WRITTEN_FOR_EXPLICIT):
        return
    row = old_names()[AXIS_TYPES]
    for call in untyped_meshes(desk.module, desk.resolver):
        if is_guarded(call, desk.module) or desk.keeps(call, row):
            continue
        kind = desk.name_of("jax.sharding.AxisType", call.func)
        count = _axis_count(call, desk)
        if kind is None or not count:
            desk.leave(call, row)
            continue
        one = f"({kind}.Auto,)"
        set_keyword(desk, call, "axis_types", one if count == "1" else f"{one} * {count}")
        desk.done(call, row)


def _axis_count(call: ast.Call, desk: RewriteContext) -> str:
    """How many axes a mesh has: a number, or an expression for it; empty where neither is at hand."""
    made = mesh_call(call, desk.module, desk.resolver)
    if made is not None and made.axes is not None:
        return str(len(made.axes))
    names = given(call, "axis_names", 1)
    if isinstance(names, ast.Tuple | ast.List):
        return str(len(names.elts))
    return f"len({ast.unparse(names)})" if isinstance(names, ast.Name | ast.Attribute) else ""
