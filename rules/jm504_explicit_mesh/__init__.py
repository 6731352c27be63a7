"""JM504: an array that is not sharded is given to a shard_map over a mesh with explicit axes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axis_values import axis_names, mesh_axes
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.mapped_calls import shard_calls
from jaxmigrate.flow.specs import spec_axes
from jaxmigrate.program.collectives import MAKE_MESH, argument
from jaxmigrate.program.library import starting
from jaxmigrate.program.values import Application, Argument, External, Value

CODE = "JM504"
FRESH = starting("fresh")


def check(facts: Facts) -> Iterator[Finding]:
    """Fresh arrays under a spec that splits them, over a mesh of `make_mesh` that says nothing of `axis_types`."""
    modules = [module for module in facts.modules if "make_mesh" in module.text and "axis_types" not in module.text]
    for found in shard_calls(modules, facts.resolver):
        mesh = argument(found.made.arguments, 1, "mesh")
        if mesh is None or not _is_explicit(mesh, facts) or _is_partial(found.made, mesh, facts):
            continue
        for given, spec in found.specs():
            axes = spec_axes(spec.expression, spec.module, facts.resolver) if spec.expression is not None else None
            if not axes or not _is_fresh(facts.resolver.value(given, found.module)):
                continue
            message = (
                f"make_mesh gives explicit axes since jax 0.9, which refuse an array not yet split over {min(axes)!r}; "
                "pass axis_types=(AxisType.Auto,)"
            )
            yield from facts.finding(found.module, given, CODE, message)


def _is_explicit(mesh: Argument, facts: Facts) -> bool:
    values = facts.resolver.argument_values(mesh)
    value = values[0] if len(values) == 1 else None
    return isinstance(value, Application) and value.callee == External(MAKE_MESH)


def _is_partial(made: Application, mesh: Argument, facts: Facts) -> bool:
    """Whether a shard_map may leave some axes of its mesh to JAX, which then moves what it is given."""
    manual = argument(made.arguments, None, "axis_names")
    if manual is None:
        return False
    named = manual.expression.elts if isinstance(manual.expression, ast.Set) else []
    names = [axis_names(one, manual.module, facts.resolver, {}) or () for one in named]
    return frozenset(name for one in names for name in one) != mesh_axes(mesh, facts.resolver, {})


def _is_fresh(value: Value) -> bool:
    callee = value.callee if isinstance(value, Application) else None
    return isinstance(callee, External) and callee.name.startswith(FRESH)
