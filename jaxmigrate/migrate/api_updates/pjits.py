"""`pjit` becomes `jit`, which has taken shardings itself since jax 0.4.8."""

from __future__ import annotations

import ast

from jaxmigrate.migrate.api_updates.calls import drop_name, name_positions, ordered, rename_keyword
from jaxmigrate.migrate.api_updates.rewrite_context import RewriteContext
from jaxmigrate.migrate.api_updates.texts import Texts
from jaxmigrate.program.combined import PARTIALS
from jaxmigrate.program.old_uses import OldReference
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import denotes
from jaxmigrate.program.syntax import has_stars

NAMES = ("jax.experimental.pjit.pjit", "jax.pjit")
RENAMED = {"in_axis_resources": "in_shardings", "out_axis_resources": "out_shardings"}
POSITIONAL = ("fun", "in_shardings", "out_shardings")
IN_CONTEXT = (
    "shards by bare specs, which jax.jit takes only under jax.set_mesh, and some mesh of the project is entered by "
    "`with mesh:`; write `with jax.set_mesh(mesh):` and run fix again"
)


def reason(use: OldReference, resolver: Resolver, texts: Texts, stays: bool) -> str:
    """Why a use is left; `stays` says that some mesh is still entered by `with mesh:`."""
    if stays:
        return IN_CONTEXT
    call, first = call_of(use, resolver)
    if call is None:
        old = any(texts.mention(name) for name in RENAMED)
        return "is passed as a value, and some call of pjit has in_axis_resources; call pjit by its name" if old else ""
    if any(isinstance(a, ast.Starred) for a in call.args):
        return "is called with *args; write the arguments out and run fix again"
    if has_stars(call) and any(texts.mention(name) for name in RENAMED):
        return "is called with **kwargs, which may hold in_axis_resources; write them out and run fix again"
    if len(call.args) - first > len(POSITIONAL):
        return "has positional arguments after the shardings; pass them by keyword and run fix again"
    arguments = ordered(call)
    if any(k.arg == "fun" and arguments.index(k) > first for k in call.keywords):
        return "passes fun by keyword after other arguments; put the function first and run fix again"
    return ""


def apply(desk: RewriteContext, use: OldReference) -> None:
    """Edits the call that a use stands in."""
    call, first = call_of(use, desk.resolver)
    if call is None:
        return
    name_positions(desk, call, POSITIONAL[1:], first + 1)
    for old, new in RENAMED.items():
        rename_keyword(desk, call, old, new)
    drop_name(desk, call, "fun")


def call_of(use: OldReference, resolver: Resolver) -> tuple[ast.Call | None, int]:
    """The call that a use is the callee or bound by a partial of, and how many arguments come before its own."""
    parent = use.module.table.parents.get(use.node)
    if isinstance(parent, ast.Call) and parent.func is use.node:
        return parent, 0
    if isinstance(parent, ast.Call) and parent.args and parent.args[0] is use.node:
        callee = parent.func
        if isinstance(callee, ast.Name | ast.Attribute) and denotes(callee, resolver, use.module) in PARTIALS:
            return parent, 1
    return None, 0
