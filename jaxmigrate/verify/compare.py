"""Compares two recordings call by call and leaf by leaf, by digest: what is equal here is bitwise equal.

How large a difference is takes the arrays themselves, which `measure` reads; this module says where there is one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest

from jaxmigrate.verify.align import align, replaced_by
from jaxmigrate.verify.comparison import CallKey, CallPair, Delta, Divergence, SiteComparison
from jaxmigrate.verify.fewer import pairs_of_fewer
from jaxmigrate.verify.leaves import compare_values
from jaxmigrate.verify.pairing import CALLS_LOOKED_AT, Sides, paired
from jaxmigrate.verify.recording import Call, Recording, Signature, StreamKey, Values, is_enclosing, streams


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
    return compare_values("input", call.inputs, rewritten.inputs, found[call.site]) == []


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
            found = compare_values(where, ours, theirs, site)
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


def _weak_differences(original: Values | None, rewritten: Values | None) -> int:
    if original is None or rewritten is None or original.signature == rewritten.signature:
        return 0
    pairs = zip(original.signature.leaves, rewritten.signature.leaves, strict=False)
    return sum(leaf.weak != other.weak for leaf, other in pairs if leaf.shape == other.shape)
