"""Barriers: `pmap(lambda x: psum(x, "i"), "i")(jnp.ones(n))`, by which processes wait for each other.

All slices hold one number, so that the whole array may go to each device: what a collective gives of it by elements is
the array that pmap gave back, with a slice for each device of the process, and lies the same on all devices.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from jaxmigrate.flow.layout import mapped_bodies
from jaxmigrate.flow.layout.choices import Layouts, SiteChoice
from jaxmigrate.flow.layout.groups import Groups
from jaxmigrate.flow.layout.kinds import CONSTANTS
from jaxmigrate.flow.layout.model import Op, SiteCall
from jaxmigrate.flow.layout.operations import is_fetched
from jaxmigrate.flow.layout.shape_texts import leading_sizes, shape_given
from jaxmigrate.flow.layout.values import Group
from jaxmigrate.program.collectives import REDUCTIONS
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.sites import mapped_values
from jaxmigrate.program.syntax import has_stars
from jaxmigrate.program.values import External, Function, Partial

WAITS = "block_until_ready"


def barriers(groups: Groups, found: Layouts) -> None:
    """Gives the maps of barriers their arrays as they are, which no operation changes then."""
    calls: dict[ast.expr, list[SiteCall]] = {}
    for call in groups.it.maps.calls.values():
        calls.setdefault(call.site, []).append(call)
    found_ones = {n for n, c in found.sites.items() if calls.get(n) and _is_barrier(groups, c, calls[n])}
    while others := {node for node in found_ones if not _meets_only(groups, node, found_ones)}:
        found_ones -= others
    kept = {group.find() for node in found_ones for group in _arrays(groups, node)}
    for node in found_ones:
        choice = found.sites[node]
        (given,), (made,) = choice.arguments, choice.outputs
        given, made = (replace(one, layout="replicated", aligned=False, reason=None) for one in (given, made))
        found.sites[node] = replace(choice, arguments=(given,), outputs=(made,), squeezes=())
    found.ops = [one for one in found.ops if one.op.group.find() not in kept]


def _is_barrier(groups: Groups, choice: SiteChoice, calls: Sequence[SiteCall]) -> bool:
    node = choice.site.node
    if not (choice.is_global and choice.whole and len(choice.arguments) == len(choice.outputs) == 1):
        return False
    return _reduces(groups, node) and _is_constant(groups, node) and all(_may_stay(groups, call) for call in calls)


def _arrays(groups: Groups, site: ast.expr) -> Iterator[Group]:
    """What a map is given and gives."""
    return (group for key, group in groups.it.groups.items() if key[0] in ("argument", "output") and key[1] is site)


def _meets_only(groups: Groups, site: ast.expr, barriers: Collection[ast.expr]) -> bool:
    """Whether no map but barriers has a hand in the arrays of one."""
    keys = (key for group in _arrays(groups, site) for key in groups.touching.get(group.find(), ()))
    return all(key[1] in barriers for key in keys)


def _is_constant(groups: Groups, site: ast.expr) -> bool:
    """Whether a map is given nothing but arrays of one number for each device, and no result of a map."""
    given = groups.it.groups.get(("argument", site, 0))
    if given is None:
        return False
    root = given.find()
    made = [op for op in groups.it.operations.ops.values() if op.group.find() is root]
    no_result = all(key[0] == "argument" for key in groups.touching.get(root, ()))
    return no_result and bool(made) and all(map(_is_row_of_numbers, made))


def _is_row_of_numbers(op: Op) -> bool:
    if op.kind != "replicate" or op.form not in CONSTANTS or not isinstance(op.node, ast.Call):
        return False
    shape = shape_given(op.node)
    return not isinstance(shape, ast.BinOp) and len(leading_sizes(shape)) == 1 and not _has_rest(shape)


def _has_rest(shape: ast.expr | None) -> bool:
    return isinstance(shape, ast.Tuple | ast.List) and len(shape.elts) > 1


def _reduces(groups: Groups, site: ast.expr) -> bool:
    """Whether a map does nothing but reduce its argument over the mapped axis, by elements."""
    values = mapped_values(groups.it.sites[site], groups.it.resolver)
    value = values[0] if len(values) == 1 else None
    if isinstance(value, Partial) and isinstance(value.callee, External):
        by_name = [one.keyword for one in value.arguments] == ["axis_name"]
        return by_name and value.callee.name in REDUCTIONS
    function = mapped_bodies.mapped_function(groups.it, site)
    if function is None or value is not function or not isinstance(function, Function):
        return False
    names, results = function.passed_names(), returned_by(function.node)
    call = results[0] if len(results) == 1 else None
    if len(names) != 1 or not isinstance(call, ast.Call) or has_stars(call) or not call.args:
        return False
    if not isinstance(function.node, ast.Lambda) and len(function.node.body) > 1:
        return False
    callee = groups.it.resolver.value(call.func, function.module)
    of_itself = isinstance(call.args[0], ast.Name) and call.args[0].id == names[0]
    grouped = len(call.args) > 2 or any(k.arg != "axis_name" for k in call.keywords)
    return of_itself and not grouped and isinstance(callee, External) and callee.name in REDUCTIONS


def _may_stay(groups: Groups, call: SiteCall) -> bool:
    """Whether a result may lie on all devices of all processes: on one process, or where the host only waits for it."""
    if len(call.places) != 1 or call.receiver is not None or call.node.keywords:
        return False
    if not groups.processes:
        return True
    parents, node = call.module.table.parents, call.node
    above = parents.get(node)
    if isinstance(above, ast.Attribute) and above.attr == WAITS and isinstance(parents.get(above), ast.Call):
        node = parents[above]  # type: ignore[assignment]
    elif isinstance(above, ast.Call) and groups.it.resolver.value(above.func, call.module) == External(f"jax.{WAITS}"):
        node = above
    return isinstance(parents.get(node), ast.Expr) or is_fetched(groups.it.resolver, node, call.module)
