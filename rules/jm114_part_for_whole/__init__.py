"""JM114: a device's part of a sum, of features or of a sequence that is taken for the whole."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import as_argument, shown
from jaxmigrate.flow.blocks.parts import Part
from jaxmigrate.flow.enclosing import text_around
from jaxmigrate.flow.exchanged_gathers import exchanged_gathers
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.gathered_labels import local_labels
from jaxmigrate.flow.mapped_blocks import OWN_AXES, bodies, shown_as
from jaxmigrate.flow.readings import DeviceMap

CODE = "JM114"
WRONG = frozenset(  # whatever devices do with it later
    {"averaged", "nonlinear", "ratio", "mixed", "rows", "added", "sliced", "gathered", "exchanged", "edge", "offset"}
)
# By what a function may divide what is too large, in another place.
COUNTED = re.compile(r"axis_size|device_count|psum\(1|world|num_devices|n_dev|replicas|num_shards|mesh\.(shape|size)")


def check(facts: Facts) -> Iterator[Finding]:
    """Partial sums that are averaged or put through a function, and statistics and positions of a block alone."""
    told = {one.node for one in exchanged_gathers(facts)}  # by their specs
    for found, _, _, body in bodies(facts):
        for part in body.parts:
            if part.node not in told and not _is_meant(part, found, facts):
                told.add(part.node)
                yield from facts.finding(part.module, part.node, CODE, _message(part))
    for one in local_labels(facts.calls("all_gather"), facts.resolver):
        rows = ast.unparse(one.node.args[0])
        columns = shown_as(one.logits, "what they choose in")
        message = (
            f"each device's labels count its own rows from 0, and {columns} has the columns of all devices; add "
            f"jax.lax.axis_index({one.axis}) * {rows}"
        )
        yield from facts.finding(one.module, one.node, CODE, message)


def _is_meant(part: Part, found: DeviceMap, facts: Facts) -> bool:
    """Whether each device may well work with its part: of experts and the like, or if devices put it together later.

    What is wrong with partial sums, no later collective mends.
    """
    if any(OWN_AXES.search(axis.lower()) for axis in part.axes):
        return True
    table = part.module.table
    given_back = isinstance(table.parents.get(part.node), ast.Lambda | ast.Return)
    if part.kind == "gathered" and given_back and table.function_of(part.node) is found.function.node:
        return True  # what becomes of it does not show
    if part.kind in WRONG:
        return False
    if part.kind == "first rows":
        return "axis_index" in text_around(part.node, part.module)
    if part.kind in ("length", "summed"):
        return COUNTED.search(text_around(part.node, part.module)) is not None
    map_of = found.application.node
    named = {use.axis for use in facts.axis_uses if any(step.node is map_of for step in use.way)}
    return bool(named & part.axes)


_SAID = {
    "added": (
        "every device along {axes} adds {held} to its partial sum, so that psum counts it as often as there are "
        "devices; add it after the psum"
    ),
    "offset": (
        "{held} is made of differences to the largest of this device's block alone, which {axes} splits, and psum adds "
        "up what has another scale on each device: take jax.lax.pmax over {axes} of the largest first"
    ),
    "edge": (
        "this comes from the neighbour along {axes}, which splits another dimension of {held} than the one along which "
        "it is put beside it; exchange it over the axis that splits that one"
    ),
    "gathered": (
        "{held} is split over {axes} along another dimension than the one along which its blocks are put side by side "
        "here; name the dimension that is split"
    ),
    "exchanged": (
        "all_to_all divides {held} along the dimension that {axes} splits already, and puts blocks together along one "
        "that is whole; exchange split_axis and concat_axis"
    ),
}


def _message(part: Part) -> str:
    held, axes = shown_as(part.held, "the operand"), shown(part.axes)
    if part.kind in _SAID:
        return _SAID[part.kind].format(held=held, axes=axes)
    reduction = as_argument(part.axes)
    match part.kind:
        case "averaged":
            return (
                f"{held} is a partial sum over {axes}, and pmean divides the sum by the number of devices; write psum"
            )
        case "ratio":
            return (
                f"a sum over this device's block, which {axes} splits, divides {held}, and the devices' ratios are put "
                f"together, each as much as any other; psum both over {axes} and divide then"
            )
        case "length":
            return (
                f"a sum over all devices along {axes} is divided by {held}, the length of one block: too large by "
                "their number; divide by the length of all blocks, or write pmean of means"
            )
        case "mixed":
            return (
                f"{held} is made of a statistic of all features and of one of this device's, which {axes} splits; "
                f"reduce both over {axes}"
            )
        case "rows":
            return f"{held} is split over {axes}: psum over it adds up different parts; leave {axes} out of this psum"
        case "summed":
            return (
                f"{held} is a mean of this device's block, which {axes} splits: psum of the means is too large by the "
                "number of devices; write pmean"
            )
        case "nonlinear":
            return (
                f"{held} is a partial sum over {axes} here: its factors are split where they are summed over; write "
                f"jax.lax.psum({held}, {reduction}) before this"
            )
        case "sliced":
            return (
                f"{held} is a partial sum over {axes}, of which each device takes its own slice without those of the "
                f"others; write jax.lax.psum_scatter(..., {reduction})"
            )
        case "first rows":
            return (
                f"{held} is whole on each device, and all take its first rows, as many as a block has that {axes} "
                f"splits: split {held} over {axes}, too, by its spec"
            )
        case "positions":
            return (
                f"{held} is split over {axes}, and each device counts its positions from 0; add "
                f"jax.lax.axis_index({reduction}) times the length of the block"
            )
    return (
        f"the features of {held} are split over {axes}: each device reduces those of its block alone; reduce over "
        f"{axes}, too, as by jax.lax.pmean(..., {reduction})"
    )
