"""Compares two recordings call by call and leaf by leaf, by digest: what is equal here is bitwise equal.

How large a difference is takes the arrays themselves, which `measure` reads; this module says where there is one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

from jaxmigrate.verify.align import NUMBERS, Alignment, LeafPair, align, replaced_by
from jaxmigrate.verify.fewer import pairs_of_fewer
from jaxmigrate.verify.layouts import Digests, Layout, agrees, explain, is_split
from jaxmigrate.verify.pairing import CALLS_LOOKED_AT, Sides, paired
from jaxmigrate.verify.recording import Call, Leaf, Recording, Signature, StreamKey, Values, is_enclosing, streams

# The kinds of difference whose size takes the arrays themselves.
MEASURED = ("value", "dtype", "replicas", "rows")
# The kind of a result that has more rows on one side.
ROWS = "rows"


class CallKey(NamedTuple):
    """Names one call of a run such that the same call of another run has the same name."""

    stream: StreamKey
    site: str
    number: int


@dataclass(frozen=True)
class Delta:
    """One way in which a call differs.

    `leaf` is the position among the original's leaves and `other` that among the rewritten ones, None if all or none
    are meant. `detail` says which slices differ.
    """

    where: str
    kind: str
    leaf: int | None = None
    path: str = ""
    original: str = ""
    rewritten: str = ""
    other: int | None = None
    layout: Layout | None = None
    detail: str = ""


@dataclass(frozen=True)
class CallPair:
    """The same call in both runs, and how it differs.

    `unrecorded` says that the layouts differ and that the log holds no digests of leaves, so that nothing is known.
    `inputs_equal` says whether both sides were given the same, None where not all arguments were compared.
    """

    key: CallKey
    original: Call
    rewritten: Call
    deltas: tuple[Delta, ...]
    weak_types: int = 0
    unrecorded: bool = False
    inputs_equal: bool | None = None


@dataclass(frozen=True)
class Divergence:
    """The first point at which two runs do not make the same calls; `kind` is order or count.

    It is `dropped` if the rewritten run does without the call, and makes those around it.
    """

    kind: str
    site: str
    number: int
    position: int
    original: str
    rewritten: str
    dropped: bool = False


@dataclass
class SiteComparison:
    """What two runs did at one site.

    `parameters` are the names of the mapped functions' parameters. A lenient comparison does not mind arguments that
    are held or given in another way, so long as the results are the same. `dropped` are the original's calls that the
    rewritten run does without, each with its stream.
    """

    pairs: list[CallPair] = field(default_factory=list)
    divergences: list[Divergence] = field(default_factory=list)
    calls_original: int = 0
    calls_rewritten: int = 0
    parameters: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    lenient: bool = False
    pairings: dict[tuple[str, Signature, Signature], Alignment] = field(default_factory=dict)
    dropped: list[tuple[StreamKey, Call]] = field(default_factory=list)

    def align(self, where: str, original: Signature, rewritten: Signature) -> Alignment:
        """The leaves of two calls side by side."""
        found = self.pairings.get((where, original, rewritten))
        return found if found is not None else align(where, original, rewritten, *self.parameters, self.lenient)

    @property
    def on_one_side(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The results that only the original has, and those that only the rewritten side has, by path."""
        ours, theirs = dict[str, None](), dict[str, None]()
        for original, rewritten in self.signatures["output"]:
            found = self.align("output", original, rewritten)
            ours |= dict.fromkeys(found.only_ours)
            theirs |= dict.fromkeys(found.only_theirs)
        return tuple(ours), tuple(theirs)

    @property
    def signatures(self) -> dict[str, list[tuple[Signature, Signature]]]:
        """The different kinds of arguments and of results that the calls had, on both sides."""
        found: dict[str, dict[tuple[Signature, Signature], None]] = {"input": {}, "output": {}}
        for pair in self.pairs:
            both = {
                "input": (pair.original.inputs, pair.rewritten.inputs),
                "output": (pair.original.outputs, pair.rewritten.outputs),
            }
            for where, (ours, theirs) in both.items():
                if ours is not None and theirs is not None:
                    found[where][ours.signature, theirs.signature] = None
        return {where: [*pairs] for where, pairs in found.items()}

    @property
    def differing(self) -> list[CallPair]:
        """The calls that are not bitwise equal."""
        return [pair for pair in self.pairs if pair.deltas]

    @property
    def first_difference(self) -> int | None:
        """The number of the first call that is not the same in both runs."""
        numbers = [pair.key.number for pair in self.pairs if pair.deltas]
        return min([*numbers, *(divergence.number for divergence in self.divergences)], default=None)


def compare(
    original: Recording, rewritten: Recording, lenient: bool = False, *, whole: bool = True
) -> dict[str, SiteComparison]:
    """Compare two runs, by site; sites that neither run reached are not in the result.

    The rewritten run is not `whole` where it came to no good end: what it did not call is then no sign of anything.
    """
    ours, theirs = streams(original), streams(rewritten)
    found = {
        site: SiteComparison(
            parameters=(original.parameters(site), rewritten.parameters(site)), lenient=lenient or is_enclosing(site)
        )
        for site in {call.site: None for stream in (*ours.values(), *theirs.values()) for call in stream}
    }
    for key in sorted({*ours, *theirs}, key=lambda key: (key.process, key.thread)):
        _compare_stream(key, ours.get(key, []), theirs.get(key, []), found, whole=whole)
    return found


def _compare_stream(
    key: StreamKey, ours: list[Call], theirs: list[Call], found: dict[str, SiteComparison], *, whole: bool
) -> None:
    by_site, by_site_rewritten = _by_site(ours), _by_site(theirs)
    fewer = pairs_of_fewer(ours, theirs, lambda one, other: _are_given_the_same(one, other, found)) if whole else {}
    dropped: set[int] = set()
    for site in {**by_site, **by_site_rewritten}:
        comparison = found[site]
        calls, calls_rewritten = by_site.get(site, []), by_site_rewritten.get(site, [])
        comparison.calls_original += len(calls)
        comparison.calls_rewritten += len(calls_rewritten)
        pairs = fewer.get(site, [*zip(calls, calls_rewritten, strict=False)])
        if site in fewer:
            kept = {call.order for call, _ in pairs}
            comparison.dropped += [(key, call) for call in calls if call.order not in kept]
            dropped |= {call.order for call in calls} - kept
        if comparison.lenient:
            _pair_leaves(pairs, comparison)
        for call, rewritten in pairs:
            if not (call.ended and rewritten.ended):
                break
            comparison.pairs.append(_compare_call(CallKey(key, site, call.number), call, rewritten, comparison))
    for divergence in (
        *_divergences([call for call in ours if call.order not in dropped], theirs),
        *_dropped(ours, theirs, dropped),
    ):
        found[divergence.site].divergences.append(divergence)


def _are_given_the_same(call: Call, rewritten: Call, found: Mapping[str, SiteComparison]) -> bool:
    if call.inputs is None or rewritten.inputs is None:
        return False
    return _compare_values("input", call.inputs, rewritten.inputs, found[call.site]) == []


def _dropped(ours: list[Call], theirs: list[Call], dropped: Collection[int]) -> Iterator[Divergence]:
    """The first call of each site that the rewritten run does without, with what it calls next instead."""
    told: set[str] = set()
    made = 0
    for position, call in enumerate(ours):
        if call.order not in dropped:
            made += 1
        elif call.site not in told:
            told.add(call.site)
            instead = theirs[made].site if made < len(theirs) else ""
            yield Divergence("count", call.site, call.number, position, call.site, instead, dropped=True)


def _pair_leaves(calls: Sequence[tuple[Call, Call]], site: SiteComparison) -> None:
    """Find out what stands for what in calls whose trees are not of one form: first the arguments, then the results."""
    for where in ("input", "output"):
        kinds: dict[tuple[Signature, Signature], list[tuple[int, Values, Values]]] = {}
        for number, (call, rewritten) in enumerate(calls):
            ours, theirs = _values(call, where), _values(rewritten, where)
            if ours is not None and theirs is not None:
                of_kind = kinds.setdefault((ours.signature, theirs.signature), [])
                if len(of_kind) < CALLS_LOOKED_AT:
                    of_kind.append((number, ours, theirs))
        for (ours_, theirs_), found in kinds.items():
            key = (where, ours_, theirs_)
            if key in site.pairings or align(*key, *site.parameters, lenient=True).of_one_form:
                continue
            sides = Sides(where, [(one, other) for _, one, other in found], site.parameters)
            replaced = _replaced(calls[found[0][0]], site) if where == "output" else {}
            site.pairings[key] = paired(sides, replaced)


def _values(call: Call, where: str) -> Values | None:
    return call.inputs if where == "input" else call.outputs


def _replaced(calls: tuple[Call, Call], site: SiteComparison) -> dict[int, int]:
    """For results of the original the ones of the other side that replace the same argument."""
    given = [call.inputs for call in calls]
    results = [call.outputs for call in calls]
    if given[0] is None or given[1] is None or results[0] is None or results[1] is None:
        return {}
    same = {pair.ours: pair.theirs for pair in site.align("input", given[0].signature, given[1].signature).pairs}
    of_argument = {replaced_by(leaf, given[1]): number for number, leaf in enumerate(results[1].signature.leaves)}
    found = {number: replaced_by(leaf, given[0]) for number, leaf in enumerate(results[0].signature.leaves)}
    return {
        number: of_argument[same[argument]]
        for number, argument in found.items()
        if argument in same and same[argument] in of_argument
    }


def _by_site(calls: list[Call]) -> dict[str, list[Call]]:
    found: dict[str, list[Call]] = {}
    for call in calls:
        found.setdefault(call.site, []).append(call)
    return found


def _divergences(ours: list[Call], theirs: list[Call]) -> Iterator[Divergence]:
    """The first place where two sequences of calls part, told once for each site that is involved in it."""
    for position, (call, rewritten) in enumerate(zip_longest(ours, theirs)):
        site, site_rewritten = (call.site if call else ""), (rewritten.site if rewritten else "")
        if site != site_rewritten:
            kind = "order" if call and rewritten else "count"
            for one in filter(None, (call, rewritten)):
                yield Divergence(kind, one.site, one.number, position, site, site_rewritten)
            return


def _compare_call(key: CallKey, original: Call, rewritten: Call, site: SiteComparison) -> CallPair:
    sides = [("input", original.inputs, rewritten.inputs)]
    deltas, weak = [], 0
    if original.raised != rewritten.raised:
        deltas.append(_exception(original, rewritten))
    else:
        sides.append(("output", original.outputs, rewritten.outputs))
        weak = _weak_differences(original.outputs, rewritten.outputs)
    unrecorded = False
    for where, ours, theirs in reversed(sides):
        if ours is not None and theirs is not None:
            found = _compare_values(where, ours, theirs, site)
            deltas[:0] = found or ()
            unrecorded |= found is None
    inputs_equal = _inputs_equal(original.inputs, rewritten.inputs, deltas, site)
    if site.lenient:
        deltas = _without_held_otherwise(deltas)
    return CallPair(key, original, rewritten, tuple(deltas), weak, unrecorded, inputs_equal)


def _inputs_equal(
    original: Values | None, rewritten: Values | None, deltas: list[Delta], site: SiteComparison
) -> bool | None:
    """Whether both sides were given the same; None where arguments are missing, or held in a way that is not known."""
    if original is None or rewritten is None:
        return None
    kinds = {delta.kind for delta in deltas if delta.where == "input"}
    if kinds - set(_HELD_OTHERWISE):
        return False
    alignment = site.align("input", original.signature, rewritten.signature)
    return None if kinds or alignment.only_ours or alignment.only_theirs else True


# Arguments that may hold the same numbers in some way that is not known.
_HELD_OTHERWISE = ("structure", "shape", "dtype")


def _without_held_otherwise(deltas: list[Delta]) -> list[Delta]:
    """The differences of a lenient comparison: results, and where these differ, numbers that were given otherwise."""
    if not any(delta.where != "input" for delta in deltas):
        return []
    return [delta for delta in deltas if delta.where != "input" or delta.kind not in _HELD_OTHERWISE]


def _exception(original: Call, rewritten: Call) -> Delta:
    return Delta("call", "exception", original=_raised(original), rewritten=_raised(rewritten))


def _raised(call: Call) -> str:
    if call.raised:
        name = call.raised.removeprefix("builtins.")
        return f"{name}: {call.raised_text}" if call.raised_text else name
    return "no exception" if call.ended else "did not end"


def _compare_values(where: str, original: Values, rewritten: Values, site: SiteComparison) -> list[Delta] | None:
    """How two sides of a call differ; None if the logs do not tell."""
    same_signature = original.signature == rewritten.signature
    if same_signature and original.digest == rewritten.digest:
        return []
    alignment = site.align(where, original.signature, rewritten.signature)
    other_structure = [Delta(where, "structure", None, *alignment.structure)] if alignment.structure is not None else []
    ours, theirs = original.leaves, rewritten.leaves
    if ours is None or theirs is None:
        return other_structure or _compare_without_leaves(where, alignment, original, rewritten)
    return other_structure + [
        delta
        for pair in alignment.pairs
        if (delta := _compare_leaf(where, pair, original, rewritten, ours, theirs)) is not None
    ]


def _compare_without_leaves(
    where: str, alignment: Alignment, original: Values, rewritten: Values
) -> list[Delta] | None:
    """By the digest of the whole call, which says something only if nothing is held in another layout."""
    found = [
        _leaf_delta(where, pair, original.signature.leaves[pair.ours], rewritten.signature.leaves[pair.theirs])
        for pair in alignment.pairs
        if pair.problem
    ]
    if found or original.digest == rewritten.digest:
        return found
    kinds = [leaf.kind for values in (original, rewritten) for leaf in values.signature.leaves]
    same = all(pair.layout is Layout.SAME for pair in alignment.pairs) and "scalar" not in kinds
    return [Delta(where, "value")] if same else None


def _compare_leaf(
    where: str,
    pair: LeafPair,
    original: Values,
    rewritten: Values,
    digests: tuple[Digests, ...],
    digests_rewritten: tuple[Digests, ...],
) -> Delta | None:
    leaf, other = original.signature.leaves[pair.ours], rewritten.signature.leaves[pair.theirs]
    if pair.problem:
        return _leaf_delta(where, pair, leaf, other)
    ours, theirs = digests[pair.ours], digests_rewritten[pair.theirs]
    if ours == theirs or pair.layout is None or leaf.kind not in (*NUMBERS, "scalar"):
        return None
    if "scalar" in (leaf.kind, other.kind):
        return _compare_scalars(where, pair, leaf, other, ours, theirs)
    if agrees(pair.layout, ours, theirs):
        return None
    if pair.layout is Layout.GATHERED and not is_split(theirs):
        return _leaf_delta(where, pair, leaf, other, "shape")
    kind = "replicas" if theirs.replicas and theirs.replicas != ours.replicas else "value"
    return _leaf_delta(where, pair, leaf, other, kind, explain(pair.layout, ours, theirs))


def _compare_scalars(
    where: str, pair: LeafPair, leaf: Leaf, other: Leaf, ours: Digests, theirs: Digests
) -> Delta | None:
    """Two scalars, or a scalar and an array: a mapped function sees the same in both."""
    layout = pair.layout or Layout.SAME
    dtypes = [_seen_dtype(leaf, ours), _seen_dtype(other, theirs)]
    if dtypes[0] == dtypes[1] and agrees(layout, _seen(leaf, ours), _seen(other, theirs)):
        return None
    text, text_rewritten = _shown(leaf, ours), _shown(other, theirs)
    return Delta(where, "scalar", pair.ours, leaf.path, text, text_rewritten, pair.theirs, layout)


def _shown(leaf: Leaf, digests: Digests) -> str:
    return digests.whole if leaf.kind == "scalar" else _described(leaf)


def _seen(leaf: Leaf, digests: Digests) -> Digests:
    return Digests(digests.flat.partition(" ")[2] or digests.whole) if leaf.kind == "scalar" else digests


def _seen_dtype(leaf: Leaf, digests: Digests) -> str:
    return digests.flat.partition(" ")[0] or leaf.dtype if leaf.kind == "scalar" else leaf.dtype


@lru_cache(maxsize=1 << 16)
def _leaf_delta(where: str, pair: LeafPair, leaf: Leaf, other: Leaf, kind: str = "", detail: str = "") -> Delta:
    """Cached, because a difference in one call is usually one in thousands of calls."""
    texts = _described(leaf), _described(other)
    return Delta(where, kind or pair.problem, pair.ours, leaf.path, *texts, pair.theirs, pair.layout, detail)


def _described(leaf: Leaf) -> str:
    if leaf.kind in ("array", "local shards"):
        return f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]"
    return {"none": "None", "deleted": "a deleted array"}.get(leaf.kind, leaf.dtype)


def _weak_differences(original: Values | None, rewritten: Values | None) -> int:
    if original is None or rewritten is None or original.signature == rewritten.signature:
        return 0
    pairs = zip(original.signature.leaves, rewritten.signature.leaves, strict=False)
    return sum(leaf.weak != other.weak for leaf, other in pairs if leaf.shape == other.shape)


def first_other_result(comparisons: Iterable[SiteComparison]) -> float:
    """When the first call was made that gives another result, by its order in the original; infinite if none does."""
    pairs = [pair for comparison in comparisons for pair in comparison.pairs]
    other = [pair for pair in pairs if pair.unrecorded or any(delta.where != "input" for delta in pair.deltas)]
    return min((pair.original.order for pair in other), default=math.inf)
