"""`jax.experimental.shard_map.shard_map` becomes `jax.shard_map`, with the numbers that the program had.

`check_rep` is not `check_vma` by another name. Up to jax 0.5 it only checked, so that `check_vma=False` gives the same
numbers; since 0.6 it also sums gradients that are taken inside with respect to what is equal on all devices. Where such
gradients may be taken, what a program was written for decides, and where that cannot be told, the call is left.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Literal, NamedTuple

from jaxmigrate.flow.inner_gradients import insight
from jaxmigrate.flow.meshes import mesh_call
from jaxmigrate.migrate.api_updates.calls import (
    drop_argument,
    drop_name,
    given,
    name_positions,
    ordered,
    rename_keyword,
    set_keyword,
)
from jaxmigrate.migrate.api_updates.rewrite_context import RewriteContext
from jaxmigrate.migrate.api_updates.texts import Texts
from jaxmigrate.program.old_names import Era
from jaxmigrate.program.operations import Code, NameArgument, code
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite, Reference, mapped_values
from jaxmigrate.program.syntax import has_stars
from jaxmigrate.program.values import Application, Argument, Partial

OLD = "jax.experimental.shard_map.shard_map"
PARAMETERS = ("f", "mesh", "in_specs", "out_specs", "check_rep", "auto")
GRADIENTS = (
    "takes gradients with respect to replicated values, itself or in a function that it calls: up to jax 0.5 each "
    "device got its own gradient, since 0.6 it is summed over the devices; write check_rep=False to keep one per "
    "device, or call jax.shard_map to have the sum, and run fix again"
)
Check = Literal["keep", "off"]


class Plan(NamedTuple):
    """What becomes of one reference to the old shard_map: why it is left, or whether variance is checked."""

    reason: str
    check: Check = "keep"


def plan(reference: Reference, sites: Sequence[MappedSite], resolver: Resolver, era: Era, texts: Texts) -> Plan:
    """Decides about a reference; `sites` are those that it maps, also by a name that a partial of it was given."""
    call = reference.call
    if call is None or reference.use not in ("call", "partial"):
        return Plan("is passed as a value, so fix cannot see its calls; call it by name and run fix again")
    if any(site.module is not reference.module and _needs_edits(site.node) for site in sites):
        return Plan(
            "is called by another module's name for it, with arguments that must change; call shard_map itself there"
        )
    reason = next((r for c in _calls(reference, sites) if (r := _unreadable(c, reference, texts, resolver))), "")
    if reason:
        return Plan(reason)
    if all(_is_false(_check_of(site)) for site in sites) and sites:
        return Plan("")
    if not sites and _is_false_value(given(call, "check_rep")):
        return Plan("")
    insights = [insight(value, resolver) for site in sites for value in mapped_values(site, resolver)]
    if not sites or any(one.gradients is not False for one in insights):
        return Plan(GRADIENTS) if not era else Plan("", "off" if era == "old" else "keep")
    return Plan("", "off" if era != "new" and any(one.carries for one in insights) else "keep")


def _calls(reference: Reference, sites: Sequence[MappedSite]) -> list[ast.Call]:
    """The calls whose arguments reach the old shard_map through a reference."""
    found = [site.node for site in sites if isinstance(site.node, ast.Call) and site.node is not reference.call]
    return [*([reference.call] if reference.call else []), *found]


def _needs_edits(node: ast.expr) -> bool:
    """Whether a call that goes through another name gives arguments whose names or places have changed."""
    if not isinstance(node, ast.Call):
        return False
    return len(node.args) > 1 or any(k.arg in ("check_rep", "auto", "f") for k in node.keywords)


def _unreadable(call: ast.Call, reference: Reference, texts: Texts, resolver: Resolver) -> str:
    if any(isinstance(a, ast.Starred) for a in call.args):
        return "is called with *args; write the arguments out and run fix again"
    if has_stars(call) and texts.mention("check_rep"):
        return "is called with **kwargs, which may hold check_rep; write them out and run fix again"
    arguments = ordered(call)
    if any(k.arg == "f" and arguments.index(k) > 0 for k in call.keywords):
        return "passes f by keyword after other arguments; put the function first and run fix again"
    first = _first(call, reference, resolver)
    auto = given(call, "auto", PARAMETERS.index("auto") + first)
    mesh = given(call, "mesh", PARAMETERS.index("mesh") + first)
    if auto is not None and not _is_empty(auto) and not isinstance(mesh, ast.Name | ast.Attribute):
        return "uses auto with a mesh that is not a variable; assign the mesh to a variable and run fix again"
    return ""


def _first(call: ast.Call, reference: Reference, resolver: Resolver) -> int:
    """Where the function stands among the positional arguments of a call: second in a partial.

    Below zero where the call is one of a partial that has been given so many arguments by position.
    """
    if reference.use != "partial" or call not in reference.module.table.parents:
        return 0
    if call is reference.call:
        return 1
    value, given_before = resolver.value(call.func, reference.module), 0
    while isinstance(value, Partial):
        given_before += sum(argument.keyword is None for argument in value.arguments)
        value = value.callee
    return -given_before


def _check_of(site: MappedSite) -> Argument | None:
    """The `check_rep` of a site, by keyword or behind the mesh and the specs."""
    positional = [argument for argument in site.arguments if argument.keyword is None]
    at = PARAMETERS.index("check_rep") - 1  # the function is not among a site's arguments
    return site.keyword("check_rep") or (positional[at] if len(positional) > at else None)


def _is_false(argument: Argument | None) -> bool:
    return argument is not None and _is_false_value(argument.expression)


def _is_false_value(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _is_empty(node: ast.expr) -> bool:
    return ast.unparse(node) in ("frozenset()", "set()", "frozenset({})", "frozenset([])", "frozenset(())")


def apply(desk: RewriteContext, reference: Reference, sites: Sequence[MappedSite], decided: Plan) -> None:
    """Edits the calls that a reference stands in or leads to; the reference itself is replaced elsewhere."""
    for call in _calls(reference, sites):
        if call in desk.module.table.parents:
            _edit(desk, call, _first(call, reference, desk.resolver), decided.check, call is reference.call)


def _edit(desk: RewriteContext, call: ast.Call, first: int, check: Check, own: bool) -> None:
    positional: list[ast.expr | None] = [*[None] * -first, *call.args[max(first, 0) :], *[None] * len(PARAMETERS)]
    _, mesh, *_, check_rep, auto = positional[: len(PARAMETERS)]
    name_positions(desk, call, ("", *PARAMETERS[1 : PARAMETERS.index("check_rep")])[max(-first, 0) :], max(first, 0))
    drop_name(desk, call, "f")
    _edit_check(desk, call, check_rep, check, own)
    _edit_auto(desk, call, auto, mesh)


def _edit_check(desk: RewriteContext, call: ast.Call, positional: ast.expr | None, check: Check, own: bool) -> None:
    value = positional or given(call, "check_rep")
    if value is None:
        if own and check == "off":
            set_keyword(desk, call, "check_vma", "False")
        return
    if positional is not None:
        desk.operations.append(NameArgument(call, positional, "check_vma"))
    rename_keyword(desk, call, "check_rep", "check_vma")
    if check == "off" and not _is_false_value(value):
        set_keyword(desk, call, "check_vma", "False")


def _edit_auto(desk: RewriteContext, call: ast.Call, positional: ast.expr | None, at_mesh: ast.expr | None) -> None:
    auto = positional or given(call, "auto")
    if auto is None:
        return
    mesh = given(call, "mesh") or at_mesh
    argument = positional or next(k for k in call.keywords if k.arg == "auto")
    if _is_empty(auto):
        drop_argument(desk, call, argument)
        return
    assert mesh is not None
    desk.operations.append(NameArgument(call, argument, "axis_names"))
    set_keyword(desk, call, "axis_names", _manual_axes(desk, mesh, auto))


def _manual_axes(desk: RewriteContext, mesh: ast.expr, auto: ast.expr) -> Code:
    """The axes of a mesh without those that are left to the compiler: by name where both are in sight."""
    axes = _axes_of(mesh, desk)
    left = _names_in(auto)
    if axes is not None and left is not None and set(axes) - left:
        return code("{" + ", ".join(desk.quoted(axis) for axis in axes if axis not in left) + "}")
    return code(f"frozenset({ast.unparse(mesh)}.axis_names) - $auto", auto=auto)


def _axes_of(mesh: ast.expr, desk: RewriteContext) -> tuple[str, ...] | None:
    value = desk.resolver.value(mesh, desk.module)
    if isinstance(value, Application) and isinstance(value.node, ast.Call):
        made = mesh_call(value.node, value.module, desk.resolver)
        return made.axes if made is not None else None
    return None


def _names_in(auto: ast.expr) -> set[str] | None:
    """The strings of a literal set, such as `frozenset({"x"})`."""
    inner = auto.args[0] if isinstance(auto, ast.Call) and len(auto.args) == 1 else auto
    try:
        names = ast.literal_eval(inner)
    except ValueError:
        return None
    return set(names) if isinstance(names, set | list | tuple) and all(isinstance(n, str) for n in names) else None
