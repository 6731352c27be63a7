"""Where the arguments of mapped calls come from: the results of which earlier calls they are, bit by bit.

This is known whatever rounding does. A migration that hands an older result on, or another one, is wrong however near
the numbers are; and what one side computes outside of mapped functions is right where the other's calls take it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from math import prod
from typing import NamedTuple

from jaxmigrate.verify.align import named_path
from jaxmigrate.verify.comparison import CallPair, SiteComparison
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


def takers(comparisons: Mapping[str, SiteComparison], copying: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
    """The sites of which the rewritten program does without calls and may, with the sites that take their results.

    Those take them in later calls, which had equal arguments on both sides: the rewritten program has got the same in
    another way. A call that gave exactly what it was given needs none to take it where its function is one of those
    `copying`, in which nothing computes. A function that computes and yet gave what it was given may give something
    else for other data; only whoever migrated by hand may have left it out altogether. What was an argument before, as
    zeros are, says nothing of a call that gives it, unless both programs have made the same call before.
    """
    given = _Given.of(comparisons)
    found = {}
    for site, comparison in comparisons.items():
        by_hand = comparison.lenient and not comparison.calls_rewritten
        told = [
            _takers_of(stream.process, call, given, copies=site in copying, by_hand=by_hand)
            for stream, call in comparison.dropped
        ]
        if told and None not in told:
            found[site] = tuple(sorted({name for names in told for name in names or ()}))
    return found


_Place = tuple[int, _Bits]


# A call: its process and site, and the digests of what it is given and gives.
_Made = tuple[int, str, str, str]


def _made(process: int, call: Call) -> _Made | None:
    if call.inputs is None or call.outputs is None:
        return None
    return process, call.site, call.inputs.digest, call.outputs.digest


class _Given(NamedTuple):
    """When arrays were arguments in the original, by process: at first in any call, and at last in one whose arguments
    were equal on both sides, with its site. And which calls, by what they were given and gave, both sides made first.
    """

    first: dict[_Place, int]
    last: dict[_Place, tuple[int, str]]
    made: dict[_Made, int]

    @classmethod
    def of(cls, comparisons: Mapping[str, SiteComparison]) -> _Given:
        """Those of all calls."""
        found = cls({}, {}, {})
        for site, comparison in comparisons.items():
            paired = ((pair.key.stream, pair.original, pair.inputs_equal) for pair in comparison.pairs)
            for stream, call, are_equal in (*paired, *((*one, False) for one in comparison.dropped)):
                for bits in _bits(call.inputs, 1).values() if call.inputs is not None else ():
                    place = (stream.process, bits)
                    found.first[place] = min(found.first.get(place, call.order), call.order)
                    if are_equal:
                        found.last[place] = max(found.last.get(place, (-1, "")), (call.order, site))
            for pair in comparison.pairs:
                made = _made(pair.key.stream.process, pair.original)
                if made is not None and pair.inputs_equal and not pair.deltas and not pair.unrecorded:
                    found.made[made] = min(found.made.get(made, pair.original.order), pair.original.order)
        return found

    def is_taken(self, place: _Place, order: int) -> bool:
        """Whether a call behind another one has such an argument, equal on both sides."""
        return self.last.get(place, (-1, ""))[0] > order

    def is_repeated(self, process: int, call: Call) -> bool:
        """Whether a call is given and gives the same as an earlier one that both sides made, so that its result is
        there.
        """
        made = _made(process, call)
        return made is not None and self.made.get(made, call.order) < call.order


def _takers_of(process: int, call: Call, given: _Given, *, copies: bool, by_hand: bool) -> tuple[str, ...] | None:
    """The sites that take what a call gave, none if it only copied that; None if it is missed."""
    results = _all_bits(call.outputs)
    if not results:
        return None
    arguments = [*_bits(call.inputs, 1).values()] if call.inputs is not None else []
    if copies and results == arguments:
        return ()
    if {*results} <= {*arguments} and not (copies or by_hand):
        return None
    places = [(process, bits) for bits in results]
    if not all(given.is_taken(place, call.order) for place in places):
        return None
    new = [place for place in places if place[1] not in arguments]
    if new and all(given.first[place] < call.order for place in new) and not given.is_repeated(process, call):
        return None
    return tuple(given.last[place][1] for place in places)


def _all_bits(values: Values | None) -> list[_Bits] | None:
    """The bits of all of a call's results, None if they are not known."""
    known = _bits(values, 1) if values is not None else {}
    return [*known.values()] if values is not None and len(known) == len(values.signature.leaves) else None
