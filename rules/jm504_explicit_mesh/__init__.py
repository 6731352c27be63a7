"""JM504: an array that is not sharded is given to a shard_map over a mesh with explicit axes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axis_values import axis_names, mesh_axes
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.fixes import Offer, spelled
from jaxmigrate.flow.mapped_calls import shard_calls
from jaxmigrate.flow.meshes import mesh_call
from jaxmigrate.flow.specs import spec_axes
from jaxmigrate.program.collectives import MAKE_MESH, argument
from jaxmigrate.program.library import starting
from jaxmigrate.program.operations import SetKeyword, code
from jaxmigrate.program.process_texts import texts_beside
from jaxmigrate.program.values import Application, Argument, External, Value

CODE = "JM504"
FIX = "`axis_types` that say Auto are given to `make_mesh`, in a program that uses nothing of explicit sharding"
EXPLICIT = re.compile(
    r"\b(AxisTypes?|axis_types|reshard|out_sharding|auto_axes|explicit_axes|typeof|set_mesh|use_mesh|get_abstract_mesh)\b"
)
SINCE = (0, 7)  # the oldest JAX whose AxisType is the one of today
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
            yield from facts.finding(found.module, given, CODE, message, fix=_automatic(mesh, facts))
            break  # the mesh is the cause, whatever else is given


def _automatic(mesh: Argument, facts: Facts) -> Offer | None:
    """What makes the axes of a mesh Auto; none where the program may want them Explicit."""
    made = facts.resolver.argument_values(mesh)[0]
    if not isinstance(made, Application) or not isinstance(made.node, ast.Call):
        return None
    call, module = made.node, made.module
    found = mesh_call(call, module, facts.resolver)
    plain = len(call.args) <= 2 and all(one.arg is not None for one in call.keywords)
    if found is None or found.axes is None or not plain or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    if any(map(EXPLICIT.search, texts_beside(module, facts.resolver))):
        return None
    name, imports = spelled("jax.sharding.AxisType", call.func, module)
    if not name or (facts.target is not None and facts.target < SINCE):
        return None
    types = f"({name}.Auto,)" if len(found.axes) == 1 else f"({name}.Auto,) * {len(found.axes)}"
    change = SetKeyword(call, "axis_types", code(types))
    return Offer("pass axis_types that say Auto", module, (change, *imports))


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
