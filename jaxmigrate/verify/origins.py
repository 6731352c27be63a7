"""Where the arguments of mapped calls come from: the results of which earlier calls they are, bit by bit.

This is known whatever rounding does. A migration that hands an older result on, or another one, is wrong however near
the numbers are; and what one side computes outside of mapped functions is right where the other's calls take it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import NamedTuple

from jaxmigrate.verify.align import named_path
from jaxmigrate.verify.compare import CallPair, SiteComparison
from jaxmigrate.verify.recording import Call, Values

# One number may be the same by chance, as losses and counts are.
_FEWEST_NUMBERS = 2


class Origin(NamedTuple):
    """A result of a mapped call, by the original's number of the leaf."""

    site: str
    call: int
    leaf: int


class Stale(NamedTuple):
    """An argument that is another result than in the original, by its path and where either side has it from."""

    call: int
    argument: str
    original: Origin
    rewritten: Origin


_Bits = tuple[str, tuple[int, ...], str]


def stale_arguments(comparisons: Mapping[str, SiteComparison]) -> dict[str, Stale]:
    """For each site the first argument that is the result of another call, or another result, than in the original."""
    pairs = sorted(
        ((comparison, pair) for comparison in comparisons.values() for pair in comparison.pairs),
        key=lambda one: one[1].original.order,
    )
    ours: dict[_Bits, set[Origin]] = {}
    theirs: dict[_Bits, set[Origin]] = {}
    found: dict[str, Stale] = {}
    for comparison, pair in pairs:
        if pair.key.site not in found:
            stale = next(_stale(comparison, pair, ours, theirs), None)
            found |= {pair.key.site: stale} if stale is not None else {}
        for number, bits, bits_rewritten in _leaves(comparison, pair, "output"):
            origin = Origin(pair.key.site, pair.key.number, number)
            ours.setdefault(bits, set()).add(origin)
            theirs.setdefault(bits_rewritten, set()).add(origin)
    return found


def _stale(
    comparison: SiteComparison,
    pair: CallPair,
    ours: Mapping[_Bits, set[Origin]],
    theirs: Mapping[_Bits, set[Origin]],
) -> Iterator[Stale]:
    if not any(delta.where == "input" and delta.kind == "value" for delta in pair.deltas):
        return
    differing = {delta.leaf for delta in pair.deltas if delta.where == "input" and delta.kind == "value"}
    for number, bits, bits_rewritten in _leaves(comparison, pair, "input"):
        one, other = ours.get(bits, set()), theirs.get(bits_rewritten, set())
        if number in differing and one and other and not one & other:
            assert pair.original.inputs is not None
            path = named_path("input", pair.original.inputs.signature.leaves[number].path, comparison.parameters[0])
            last, last_rewritten = max(one, key=lambda o: o.call), max(other, key=lambda o: o.call)
            yield Stale(pair.key.number, path, last, last_rewritten)


def _leaves(comparison: SiteComparison, pair: CallPair, where: str) -> Iterator[tuple[int, _Bits, _Bits]]:
    """The number and the bits on either side of all leaves that stand for each other and are known."""
    sides = [(call.inputs if where == "input" else call.outputs) for call in (pair.original, pair.rewritten)]
    if sides[0] is None or sides[1] is None:
        return
    bits = _bits(sides[0]), _bits(sides[1])
    for both in comparison.align(where, sides[0].signature, sides[1].signature).pairs:
        one, other = bits[0].get(both.ours), bits[1].get(both.theirs)
        if one is not None and other is not None:
            yield both.ours, one, other


def _bits(values: Values, fewest: int = _FEWEST_NUMBERS) -> dict[int, _Bits]:
    """The bits of the arrays of so many numbers, as far as the log has them."""
    return {
        number: (leaf.dtype, leaf.shape, digest.whole)
        for number, (leaf, digest) in enumerate(zip(values.signature.leaves, values.leaves or (), strict=False))
        if leaf.kind in ("array", "local shards") and prod(leaf.shape) >= fewest
    }


def takers(comparisons: Mapping[str, SiteComparison]) -> dict[str, tuple[str, ...]]:
    """For each site that the rewritten program does without, the sites that take all of its results as arguments.

    Their calls had equal arguments on both sides, so that the rewritten program has got the same in another way.
    """
    given: dict[_Bits, str] = {}
    for site, comparison in comparisons.items():
        for pair in comparison.pairs:
            if pair.inputs_equal and pair.original.inputs is not None:
                given |= dict.fromkeys(_bits(pair.original.inputs, 1).values(), site)
    found = {}
    for site, comparison in comparisons.items():
        if comparison.calls_original and not comparison.calls_rewritten:
            taken = [
                given.get(bits) if bits is not None else None for call in comparison.alone for bits in _results(call)
            ]
            if taken and None not in taken and len(comparison.alone) == comparison.calls_original:
                found[site] = tuple(sorted({one for one in taken if one is not None}))
    return found


def _results(call: Call) -> list[_Bits | None]:
    """The bits of all results of a call, None for each that is not known."""
    if call.outputs is None:
        return [None]
    known = _bits(call.outputs, 1)
    return [known.get(number) for number in range(len(call.outputs.signature.leaves))]
