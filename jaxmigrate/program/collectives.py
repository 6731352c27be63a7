"""The collectives of JAX, and the functions that bind the axes they name."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from jaxmigrate.program.values import Argument

REDUCTIONS = frozenset({"jax.lax.psum", "jax.lax.pmean", "jax.lax.pmax", "jax.lax.pmin"})
IF_MAPPED = {  # functions of libraries that reduce where the axis is bound, and give back their operand elsewhere
    "kfac_jax.utils.pmean_if_pmap": "jax.lax.pmean",
    "kfac_jax.utils.psum_if_pmap": "jax.lax.psum",
}
AXIS_POSITIONS = {
    **dict.fromkeys(REDUCTIONS, 1),
    "jax.lax.all_gather": 1,
    "jax.lax.all_gather_invariant": 1,
    "jax.lax.all_to_all": 1,
    "jax.lax.ppermute": 1,
    "jax.lax.pshuffle": 1,
    "jax.lax.pswapaxes": 1,
    "jax.lax.psum_scatter": 1,
    "jax.lax.axis_index": 0,
    "jax.lax.axis_size": 0,
}
SILENT = frozenset({"jax.lax.axis_index", "jax.lax.axis_size"})  # no device waits for another in these
COMMUNICATING = frozenset(AXIS_POSITIONS) - SILENT
HOST_SYNCS = frozenset(
    f"jax.experimental.multihost_utils.{name}"
    for name in ("sync_global_devices", "process_allgather", "broadcast_one_to_all", "assert_equal")
)

PMAP = "jax.pmap"
VMAP = "jax.vmap"
SHARD_MAPS = frozenset({"jax.shard_map", "jax.experimental.shard_map.shard_map"})
OTHER_MAPS = frozenset({"jax.smap", "jax.experimental.maps.xmap", "jax.xmap", "jax.experimental.shard_map.smap"})
MAKE_MESH = "jax.make_mesh"
MESHES = frozenset({"jax.sharding.Mesh", MAKE_MESH, "jax.experimental.maps.Mesh", "jax.interpreters.pxla.Mesh"})
SPECS = frozenset({"jax.sharding.PartitionSpec", "jax.P", "jax.experimental.PartitionSpec"})
GRADIENTS = frozenset({"jax.grad", "jax.value_and_grad"})
TRANSPARENT = frozenset(
    {
        "jax.jit",
        "jax.checkpoint",
        "jax.remat",
        "jax.named_call",
        "jax.custom_vjp",
        "jax.custom_jvp",
        "jax.custom_gradient",
    }
)


def argument(arguments: Iterable[Argument], position: int | None, *keywords: str) -> Argument | None:
    """The argument given at a position, if it has one, or under one of some keywords; None where a star may hide it."""
    positional = 0
    for one in arguments:
        if one.keyword == "*":
            return None
        if one.keyword in keywords or (one.keyword is None and positional == position):
            return one
        positional += one.keyword is None
    return None


def axis_given(name: str, arguments: Iterable[Argument]) -> Argument | None:
    """The argument that names a collective's axis; a partial's may stand in another module than the call."""
    return argument(arguments, AXIS_POSITIONS[name], "axis_name")


def axis_argument(name: str, arguments: Iterable[Argument]) -> ast.expr | None:
    """The expression that names a collective's axis."""
    found = argument(arguments, AXIS_POSITIONS[name], "axis_name")
    return found.expression if found is not None else None
