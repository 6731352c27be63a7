"""`eqx.filter_pmap` by what Equinox recommends instead: `filter_jit` on arrays that are split over the devices.

What it mapped is mapped by `filter_vmap`, which takes the same axes, so that stacked arrays stay as they are. Where
several processes work together each had its own rows, which only a person can put together.
"""

from __future__ import annotations

import ast

from jaxmigrate.migrate.api_updates.pjits import call_of
from jaxmigrate.migrate.api_updates.rewrite_context import RewriteContext
from jaxmigrate.migrate.api_updates.texts import Texts
from jaxmigrate.program.old_uses import OldReference
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import denotes, is_decorator
from jaxmigrate.program.syntax import has_stars

NAME = "equinox.filter_pmap"
KEYWORDS = {"in_axes", "out_axes", "axis_name", "axis_size", "donate"}
PROCESSES = (
    *("process_index", "process_count", "process_id", "distributed", "host_id", "host_count"),
    *("local_device_count", "local_devices"),
)


def reason(use: OldReference, resolver: Resolver, texts: Texts) -> str:
    """Why a use is left."""
    if any(texts.mention(word) for word in ("ppermute", "axis_index_groups")):
        needs = "a function with axis_index_groups, or a ppermute that leaves devices out, needs jax.shard_map"
        return f"{use.row.told}; {needs}"
    call, first = call_of(use, resolver)
    if call is None:
        plain = is_decorator(use.node, use.module)
        return "" if plain and not _has_processes(texts) else f"{use.row.told}; this one is passed as a value"
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    if has_stars(call) or len(call.args) - first > 1 or not set(given) <= KEYWORDS:
        return f"{use.row.told}; this one has arguments that filter_vmap and filter_jit do not take"
    axes = given.get("in_axes")
    if axes is not None and not _is_plain(axes, use, resolver):
        return f"{use.row.told}; this one maps over other axes than the first"
    return (
        f"{use.row.told}; if each process passes only its own rows, write it with jax.shard_map"
        if _has_processes(texts)
        else ""
    )


def _has_processes(texts: Texts) -> bool:
    return any(texts.mention(word) for word in PROCESSES)


def _is_plain(axes: ast.expr, use: OldReference, resolver: Resolver) -> bool:
    """Whether axes say of each argument that its arrays are mapped over the first axis, or not at all."""
    if isinstance(axes, ast.Tuple):
        return all(_is_plain(one, use, resolver) for one in axes.elts)
    if isinstance(axes, ast.Constant):
        return axes.value is None or (type(axes.value) is int and axes.value == 0)
    if not isinstance(axes, ast.Call) or not isinstance(axes.func, ast.Name | ast.Attribute):
        return False
    of_arrays = denotes(axes.func, resolver, use.module) == "equinox.if_array"
    return of_arrays and len(axes.args) == 1 and isinstance(axes.args[0], ast.Constant) and axes.args[0].value == 0


def name(desk: RewriteContext, use: OldReference) -> str | None:
    """The helper that takes the place of `filter_pmap`, written out for the file."""
    jax, equinox = desk.name_of("jax", use.node), desk.imported_name("equinox", use.node)
    new = [desk.imported_name(f"jax.sharding.{one}", use.node) for one in ("Mesh", "NamedSharding", "PartitionSpec")]
    if jax is None or equinox is None or None in new:
        return None
    mesh, sharding, spec = new
    lines = [
        "def _filter_map(function=None, *, in_axes=None, donate='none', **options):".replace("'", '"'),
        '    """Maps a function over rows that are split over the devices."""',
        "    if function is None:",
        "        return lambda function: _filter_map(function, in_axes=in_axes, donate=donate, **options)",
        f"    axes = {equinox}.if_array(0) if in_axes is None else in_axes",
        f"    mapped = {equinox}.filter_vmap(function, in_axes=axes, **options)",
        "",
        "    def split(leaf):",
        f'        over = {mesh}({jax}.devices()[: leaf.shape[0]], ("devices",))',
        f'        return {jax}.lax.with_sharding_constraint(leaf, {sharding}(over, {spec}("devices")))',
        "",
        f"    @{equinox}.filter_jit(donate=donate)",
        "    def run(*args):",
        "        each = axes if isinstance(axes, tuple) else (axes,) * len(args)",
        f"        arrays, others = {equinox}.partition(args, {equinox}.is_array)",
        f"        arrays = [a if axis is None else {jax}.tree.map(split, a) for a, axis in zip(arrays, each)]",
        f"        return mapped(*{equinox}.combine(tuple(arrays), others))",
        "",
        "    return run",
    ]
    return desk.helper("_filter_map", lines, use.node)
