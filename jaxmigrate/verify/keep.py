"""Chooses which arrays of differing calls a second pair of runs leaves on disk, within a bound."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from jaxmigrate.verify.align import replaced_by
from jaxmigrate.verify.comparison import MEASURED, CallPair, SiteComparison
from jaxmigrate.verify.recording import Values

MAX_CALLS = 400

# For each site, for each call, the leaves of its arguments ("in") and results ("out"); None stands for all.
Wanted = Mapping[str, Mapping[int, Mapping[str, Sequence[int] | None]]]


def choose(sites: Mapping[str, SiteComparison], limit: int) -> Wanted:
    """The calls to keep: the first and the last that differ, and as many between as fit in `limit` bytes.

    The first differing call of every site is chosen whatever its size, so that there is always something to measure.
    """
    share = limit // max(1, len(sites))
    return {site: dict(_choose_calls(comparison.differing, share)) for site, comparison in sites.items()}


def _choose_calls(pairs: list[CallPair], limit: int) -> Iterator[tuple[int, Mapping[str, Sequence[int] | None]]]:
    left = limit
    for taken, position in enumerate(spread(len(pairs))):
        pair = pairs[position]
        leaves = {"in": _with_replaced(pair, _leaves(pair, "input")), "out": _leaves(pair, "output")}
        if not taken and pair.inputs_equal and _bytes(pair.original.inputs, None) < limit // 2:
            # What the call started from tells whether it took too large a step.
            leaves["in"] = None
        left -= _bytes(pair.original.inputs, leaves["in"]) + _bytes(pair.original.outputs, leaves["out"])
        if taken and (left < 0 or taken >= MAX_CALLS):
            return
        yield pair.key.number, leaves


def spread(count: int) -> Iterator[int]:
    """0 to count - 1 in an order of which every beginning is spread over the whole: first, last, middle, ..."""
    if count:
        yield 0
    if count > 1:
        yield count - 1
    gaps = [(0, count - 1)]
    while gaps:
        low, high = gaps.pop(0)
        middle = (low + high) // 2
        if low < middle < high:
            yield middle
            gaps += [(low, middle), (middle, high)]


def _leaves(pair: CallPair, where: str) -> Sequence[int] | None:
    """The leaves that differ; all of them where the log only says that some do."""
    found = [delta for delta in pair.deltas if delta.where == where and delta.kind in MEASURED]
    if any(delta.leaf is None for delta in found):
        return None
    return sorted({leaf for delta in found for leaf in (delta.leaf, delta.other) if leaf is not None})


def _with_replaced(pair: CallPair, given: Sequence[int] | None) -> Sequence[int] | None:
    """The arguments that differ, and those in whose place results stand that differ: it is the step that is judged."""
    inputs, outputs = pair.original.inputs, pair.original.outputs
    if given is None or inputs is None or outputs is None:
        return given
    leaves = [delta.leaf for delta in pair.deltas if delta.where == "output" and delta.leaf is not None]
    replaced = (replaced_by(outputs.signature.leaves[leaf], inputs) for leaf in leaves)
    return sorted({*given, *(leaf for leaf in replaced if leaf is not None)})


def _bytes(values: Values | None, leaves: Sequence[int] | None) -> int:
    if values is None:
        return 0
    return sum(
        leaf_bytes(leaf.dtype, leaf.shape)
        for number, leaf in enumerate(values.signature.leaves)
        if leaf.kind in ("array", "local shards") and (leaves is None or number in leaves)
    )


def leaf_bytes(dtype: str, shape: tuple[int, ...]) -> int:
    """The size of an array in bytes, from the name of its dtype."""
    size = 16 if dtype.startswith("key<") else item_bytes(dtype)
    for length in shape:
        size *= length
    return size


def item_bytes(dtype: str) -> int:
    """The size of one number: the bits in the dtype's name, as in float32, bfloat16 and float8_e4m3fn."""
    bits = re.search(r"\d+", dtype)
    return max(1, int(bits[0]) // 8) if bits else 1
