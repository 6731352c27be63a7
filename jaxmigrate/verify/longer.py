"""Results with more rows on one side than on the other: the last batch of an evaluation, padded to a full one.

What both sides have of it is compared row by row. Nothing that a call returns says whether the program reads the rows
behind; what it prints does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jaxmigrate.verify.comparison import ROWS, CallPair, Delta
from jaxmigrate.verify.layouts import Layout, Shape, rows_of, rows_of_rewritten


def with_longer(pairs: Sequence[CallPair]) -> list[CallPair]:
    """The calls, with other numbers of rows told from other shapes.

    They are that where another call of the site has as many rows on both sides: a result that never has is another one.
    """
    alike = {number for pair in pairs for number in _alike(pair)}
    return [replace(pair, deltas=tuple(_told(delta, pair, alike) for delta in pair.deltas)) for pair in pairs]


def _alike(pair: CallPair) -> set[str]:
    """The paths of the results that stand for each other in shape, too."""
    if pair.original.outputs is None or pair.rewritten.outputs is None:
        return set()
    others = {delta.path for delta in pair.deltas if delta.where == "output" and delta.kind in ("shape", "structure")}
    return {leaf.path for leaf in pair.original.outputs.signature.leaves} - others


def _told(delta: Delta, pair: CallPair, alike: set[str]) -> Delta:
    if delta.where != "output" or delta.kind != "shape" or delta.path not in alike:
        return delta
    shapes = _shapes(delta, pair)
    counts = (rows_of(shapes[0]), rows_of_rewritten(*shapes)) if shapes is not None else (None, None)
    if counts[0] is None or counts[1] is None or counts[0] == counts[1]:
        return delta
    told = f"{counts[0]} rows in the original, {counts[1]} rewritten"
    return replace(delta, kind=ROWS, layout=Layout.PADDED, detail=told)


def _shapes(delta: Delta, pair: CallPair) -> tuple[Shape, Shape] | None:
    ours, theirs = pair.original.outputs, pair.rewritten.outputs
    if ours is None or theirs is None or delta.leaf is None or delta.other is None:
        return None
    leaves = ours.signature.leaves[delta.leaf], theirs.signature.leaves[delta.other]
    return (leaves[0].shape, leaves[1].shape) if leaves[0].dtype == leaves[1].dtype else None
