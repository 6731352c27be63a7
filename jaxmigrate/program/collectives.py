"""The collectives of JAX, and the functions that bind the axes they name."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from jaxmigrate.program.library import named, the, valued
from jaxmigrate.program.values import Argument

REDUCTIONS = named("reduction")
IF_MAPPED = valued(
    "if-mapped"
)  # functions of libraries that reduce where the axis is bound, and give back their operand elsewhere
AXIS_POSITIONS = {name: int(position) for name, position in valued("axis").items()}
ASKING = {name: int(position) for name, position in valued("asks-axis").items()}  # whether an axis is bound
SILENT = named("no-wait")  # no device waits for another in these
COMMUNICATING = frozenset(AXIS_POSITIONS) - SILENT
HOST_SYNCS = named("host-sync")

PMAP = the("pmap")
VMAP = the("vmap")
LIKE_PMAP = named("like-pmap")
PMAPS = LIKE_PMAP | {PMAP}
SHARD_MAPS = named("shard-map")
ONE_AXIS_MAPS = named("one-axis")  # over one axis of the mesh in context, beside those that are bound around it
OTHER_MAPS = named("other-map")
MAKE_MESH = "jax.make_mesh"
MESHES = named("mesh")
SPECS = named("spec")
GRADIENTS = named("gradient")
TRANSPARENT = named("same-call", "custom-gradient")


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
