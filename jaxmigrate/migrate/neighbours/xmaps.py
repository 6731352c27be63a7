"""`xmap` over one named axis becomes `shard_map` of a `vmap`, where its axes and resources are written out.

The function must be in sight and use no collective: those over the named axis would have to name the mesh's axis too.
The mesh stays the one in context, as it was for `xmap`.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from jaxmigrate.flow.operations import function_operations
from jaxmigrate.migrate.edits import Edit
from jaxmigrate.migrate.neighbours.arrays import called
from jaxmigrate.migrate.neighbours.desk import Desk
from jaxmigrate.program.old_uses import OldReference
from jaxmigrate.program.resolve import Resolver

NAME = "jax.experimental.maps.xmap"
KEYWORDS = {"fun", "in_axes", "out_axes", "axis_resources", "donate_argnums"}


class Axes(NamedTuple):
    """The positions that are mapped of the arguments and outputs (None: not at all), and the axis of the mesh."""

    ins: list[int | None] | int | None
    outs: list[int | None] | int | None
    resource: str


def reason(use: OldReference, resolver: Resolver, stays: bool) -> str:
    """Why a use is left."""
    call = called(use)
    axes = _axes(call) if call is not None else None
    if call is None or axes is None or stays:
        return use.row.told
    operations = function_operations(resolver.value(call.args[0], use.module), resolver)
    uses_axis = "axis_index" in use.module.text or "axis_size" in use.module.text
    return "" if operations == [] and not uses_axis else use.row.told


def apply(desk: Desk, use: OldReference) -> None:
    """Writes the call anew around the function that it maps."""
    call = called(use)
    axes = _axes(call) if call is not None else None
    assert call is not None
    assert axes is not None
    spec = desk.imported_name("jax.sharding.PartitionSpec", call) or "jax.sharding.PartitionSpec"
    vmap = desk.name_of("jax.vmap", call) or "jax.vmap"
    quoted = desk.quoted(axes.resource)
    parts = [f"in_specs={_specs(axes.ins, spec, quoted)}", f"out_specs={_specs(axes.outs, spec, quoted)}"]
    function = desk.module.segment(call.args[0])
    mapped = f"{vmap}({function}, in_axes={_written(axes.ins)}, out_axes={_written(axes.outs)})"
    start = desk.positions.span(call.func)[1]
    donated = next((desk.module.segment(k.value) for k in call.keywords if k.arg == "donate_argnums"), "")
    text = f"({desk.name_of('jax.shard_map', call)}({mapped}, {', '.join(parts)}, check_vma=False)"
    text += f", donate_argnums={donated})" if donated else ")"
    desk.edits.append(Edit(start, desk.positions.span(call)[1], text))


def _axes(call: ast.Call) -> Axes | None:
    given = {k.arg: k.value for k in call.keywords}
    if len(call.args) != 1 or not set(given) <= KEYWORDS or not {"in_axes", "out_axes"} <= set(given):
        return None
    try:
        resources = ast.literal_eval(given["axis_resources"]) if "axis_resources" in given else {}
        ins, outs = (_positions(ast.literal_eval(given[name])) for name in ("in_axes", "out_axes"))
    except (ValueError, TypeError):
        return None
    names = {name for _, found in (ins, outs) for name in found}
    if len(names) != 1 or not isinstance(resources, dict) or set(resources) != names:
        return None
    (resource,) = resources.values()
    return Axes(ins[0], outs[0], resource) if isinstance(resource, str) else None


def _positions(value: object) -> tuple[list[int | None] | int | None, set[str]]:
    """Where the named axis stands in one array, or in each of several; ValueError where that is not so plain."""
    if isinstance(value, tuple):
        each = [_position(one) for one in value]
        return [position for position, _ in each], {name for _, found in each for name in found}
    return _position(value)


def _position(value: object) -> tuple[int | None, set[str]]:
    if isinstance(value, dict):
        found = {position: name for position, name in value.items() if isinstance(position, int) and position >= 0}
    elif isinstance(value, list):
        found = {position: name for position, name in enumerate(value) if isinstance(name, str)}
        if any(one is not None and one is not ... and not isinstance(one, str) for one in value):
            raise ValueError(value)
        if ... in value[:-1]:
            raise ValueError(value)
    else:
        raise TypeError(value)
    if len(found) > 1 or (isinstance(value, dict) and len(found) != len(value)):
        raise ValueError(value)
    return next(iter(found), None), set(map(str, found.values()))


def _specs(positions: list[int | None] | int | None, spec: str, quoted: str) -> str:
    if isinstance(positions, list):
        inner = ", ".join(_specs(position, spec, quoted) for position in positions)
        return f"({inner},)" if len(positions) == 1 else f"({inner})"
    return f"{spec}()" if positions is None else f"{spec}({'None, ' * positions}{quoted})"


def _written(positions: list[int | None] | int | None) -> str:
    return repr(tuple(positions)) if isinstance(positions, list) else repr(positions)
