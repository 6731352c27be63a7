"""Where a device's part of something is taken for the whole: partial sums, and statistics of its block alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from jaxmigrate.flow.blocks.block import Axes, Block
from jaxmigrate.program.modules import Module

Kind: TypeAlias = Literal[
    "statistic",
    "positions",
    "averaged",
    "nonlinear",
    "ratio",
    "length",
    "summed",
    "mixed",
    "rows",
    "added",
    "first rows",
    "sliced",
    "gathered",
    "exchanged",
    "edge",
    "offset",
]


POSITION = re.compile(r"(^|_)pos(ition|itions|_ids?|s)?(_|$)|^position")


class Part(NamedTuple):
    """An operation that takes a device's part for the whole.

    Attributes:
        module: Where it stands.
        node: The operation.
        held: What is only a part.
        axes: The mesh axes over which it is one.
        kind: A statistic of the features of a block, which meets them; positions that are counted from 0 on each
            device; partial sums that are averaged; partial sums that something follows which is not linear; what sums
            of each device divide, and is then put together; sums of all devices that the length of one block divides;
            means of each device that are summed; statistics of all features mixed with those of a block; partial
            sums that are added up over an axis as well that splits what they are of; what every device adds to its
            partial sum before they are added up; the first rows of what is whole
            on each device, as many as a block has; a device's own slice of what it has only a partial sum of; blocks
            that are put side by side along another dimension than the one that is split; or blocks that all_to_all
            divides along the dimension that is split already; or the edge of a neighbour's block along another
            dimension than it is put beside; or sums of differences to the largest of each block that are put together.
    """

    module: Module
    node: ast.expr
    held: ast.expr
    axes: frozenset[str]
    kind: Kind


def dimensions(block: Block, over: Sequence[int] | None) -> list[Axes]:
    """What splits the dimensions that are reduced over, but for the first, which is often a batch."""
    count = len(block.dims)
    if over is None:
        return [*block.dims[1:]]
    known = block.sure or count > 1  # who writes a spec of several entries writes one for each dimension
    places = [one + count if one < 0 else one for one in over if one >= 0 or known]
    return [block.dims[one] for one in places if 0 < one < count]


def statistic(made: Block | None, block: Block, over: Sequence[int] | None) -> Block | None:
    """What a mean, a sum or the like of a block gives: of the features that are split, one of this device's own."""
    split = frozenset[str]().union(*(axes for axes in dimensions(block, over) if axes))
    return made._replace(own=made.own | split) if made is not None and split else made


def rejoined(blocks: Sequence[Block]) -> frozenset[str]:
    """The axes that split features which a statistic of the block's own meets."""
    own = frozenset[str]().union(*(one.own for one in blocks))
    split = frozenset[str]().union(*(axes for one in blocks if not one.own for axes in one.dims[1:] if axes))
    return own & split


def is_transposed(node: ast.expr) -> bool:
    """Whether an array is turned round where it stands, so that a batch is summed over."""
    match node:
        case ast.Attribute(attr="T" | "mT"):
            return True
        case ast.Call(func=ast.Attribute(attr="transpose" | "swapaxes" | "moveaxis" | "reshape")):
            return True
    return False


def is_position(node: ast.expr, module: Module) -> bool:
    """Whether what is counted is a position by the name that it gets, and not where a block's own rows are."""
    below: ast.AST = node
    above = module.table.parents.get(node)
    while above is not None and not isinstance(above, ast.stmt):
        if isinstance(above, ast.Subscript) and below is above.slice:
            return False
        if isinstance(above, ast.keyword) and above.arg is not None:
            return POSITION.search(above.arg) is not None
        below, above = above, module.table.parents.get(above)
    targets = above.targets if isinstance(above, ast.Assign) else ()
    return any(isinstance(one, ast.Name) and POSITION.search(one.id) is not None for one in targets)


def contracted(letter: str, terms: Sequence[str], result: str) -> bool:
    """Whether an einsum sums over features: the last of one operand, that are the first of another, as a weight's."""
    having = [term for term in terms if letter in term]
    ends = len(having) == 2 and letter not in result
    return ends and any(one.index(letter) > 0 and other.index(letter) == 0 for one, other in (having, having[::-1]))
