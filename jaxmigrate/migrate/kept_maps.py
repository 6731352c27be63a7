"""A function that makes maps and keeps them: `sharded(fun)` gives the same map again for the same function.

It stands at the module's top, so what its maps need of the code around a site comes by parameters.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable
from dataclasses import replace

from jaxmigrate.migrate.maps import MapPlan
from jaxmigrate.migrate.names import names_in
from jaxmigrate.program.modules import Module
from jaxmigrate.program.sites import MappedSite

FUN, AXIS, MESH = "fun", "axis_name", "mesh"  # its parameters
TOLD = '"""Maps fun; cached, so that each function is compiled once."""'


def with_parameters(plan: MapPlan, module: Module) -> MapPlan:
    """The map as such a function says it: with an axis or a mesh that a parameter brings."""
    if isinstance(plan.axis, ast.expr) and not plan.axis_source and not _is_of_module(plan.axis, module):
        plan = replace(plan, axis_source=AXIS)
    if plan.has_own_mesh:
        plan = replace(plan, mesh=MESH)
    if plan.whole_in and not (plan.given_by_keyword or plan.by_keyword):
        plan = replace(plan, names=None, said=())  # what is mapped may have others
    return plan


def parameters(plan: MapPlan) -> list[str]:
    """The parameters behind the first, which is what is mapped."""
    return [name for name in (AXIS, MESH) if name in (plan.axis_source, plan.mesh)]


def key_of(plan: MapPlan, *, wrapped: bool) -> Hashable:
    """What tells two such functions apart: all that is said of a map but what it maps."""
    said = (None if node is None else node if isinstance(node, str) else ast.dump(node) for node in _said(plan))
    return (
        *said,
        *(plan.inputs, plan.outputs, plan.whole_in, plan.whole_out, plan.static, plan.names, plan.said),
        *(plan.by_rows, plan.by_keyword, plan.by_name, plan.given_by_keyword, plan.mesh, plan.own_devices, wrapped),
    )


def is_hashable(site: MappedSite) -> bool:
    """Whether all that pmap is given beside what it maps has a hash, as its axis name and what it maps have."""
    axis = site.keyword("axis_name")
    given = [one for one in site.arguments if one is not axis]
    return not site.is_open and all(one.expression is not None and _has_hash(one.expression) for one in given)


def _has_hash(node: ast.expr) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.Tuple(elts=parts):
            return all(map(_has_hash, parts))
        case ast.UnaryOp(operand=one):
            return _has_hash(one)
    return False


def _said(plan: MapPlan) -> tuple[str | ast.expr | None, ...]:
    return (plan.axis_source or plan.axis, plan.donated)


def _is_of_module(node: ast.expr, module: Module) -> bool:
    """Whether the module binds all names of an expression."""
    scopes = [module.table.scope_of[name].lookup(name.id) for name in names_in([node])]
    return all(scope is module.table.root for scope in scopes)
