"""Turns what was compared and measured into a verdict for each site."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from jaxmigrate.verify.align import named_path
from jaxmigrate.verify.compare import ROWS, CallKey, CallPair, Delta, Divergence, SiteComparison
from jaxmigrate.verify.hints import hint
from jaxmigrate.verify.model import (
    CallDifference,
    ErrorPoint,
    InFlight,
    LeafError,
    SiteEvidence,
    SiteInfo,
    Verdict,
)
from jaxmigrate.verify.origins import Origin, Stale
from jaxmigrate.verify.recording import is_enclosing
from jaxmigrate.verify.seen import seen_layouts
from jaxmigrate.verify.sentences import sentence

MAX_DIFFERENCES = 20
_NAMED = 4

# The errors of measured leaves: by call, by "input" or "output", by number of the leaf.
Errors = Mapping[tuple[CallKey, str, int], LeafError]


@dataclass(frozen=True)
class Case:
    """All that is known when the sites are judged.

    `unstable` and `unstable_rewritten` hold the first call at which a side differs from itself, by site; `failure` is
    how the rewritten run failed, empty if it did not; `flying` are the calls during which it did. `precisions` say for
    either side and each site in which ones its operations are done. `outputs_agree` says that both programs print the
    same numbers. `others` are jits that are sites themselves. `stale` are arguments that are other results than in the
    original. `takers` has the sites of which the rewritten program may do without calls, with those that take what they
    give.
    """

    comparisons: Mapping[str, SiteComparison]
    sites: Mapping[str, SiteInfo]
    devices: int
    processes: int = 1
    errors: Errors = field(default_factory=dict)
    unstable: Mapping[str, int] = field(default_factory=dict)
    unstable_rewritten: Mapping[str, int] = field(default_factory=dict)
    traced: Mapping[str, Sequence[tuple[str, ...]]] = field(default_factory=dict)
    failure: str = ""
    flying: tuple[InFlight, ...] = ()
    outputs_agree: bool = False
    others: frozenset[str] = frozenset()
    stale: Mapping[str, Stale] = field(default_factory=dict)
    takers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    precisions: tuple[Mapping[str, Mapping[str, Sequence[str]]], Mapping[str, Mapping[str, Sequence[str]]]] = ({}, {})

    def parameters(self, site: str) -> tuple[str, ...]:
        """The names of the parameters of what is mapped at a site, by either side."""
        return max(self.comparisons[site].parameters, key=len) if site in self.comparisons else ()


def judge(case: Case) -> tuple[SiteEvidence, ...]:
    """The evidence for each site, in the order of the sites."""
    found = {id_: judge_site(info, case) for id_, info in case.sites.items()}
    own = {id_: one for id_, one in found.items() if id_ in case.others or not is_enclosing(id_)}
    covered = [_covered(evidence, found, case) for evidence in own.values()]
    sites = [one for one in covered if one.site.changed or one.verdict is not Verdict.NOT_EXERCISED]
    cause = cause_of(sites)
    return tuple(_after(site, cause) for site in sites)


def cause_of(sites: Iterable[SiteEvidence]) -> SiteEvidence | None:
    """The site whose calls were the first to differ, if any did."""
    differing = [site for site in sites if site.verdict is Verdict.DIFFERENT and site.first is not None]
    return min(differing, key=lambda site: site.first.order if site.first is not None else 0, default=None)


def _after(site: SiteEvidence, cause: SiteEvidence | None) -> SiteEvidence:
    """A site that differs later, and is not known to do so from equal arguments, may only follow from the first."""
    if cause is None or site.first is None or cause.first is None or site.verdict is not Verdict.DIFFERENT:
        return site
    first = site.first
    is_later = first.order > cause.first.order and site.site.id != cause.site.id
    follows = is_later and (first.where == "input" or first.inputs_equal is False)
    return replace(site, follows=str(cause.site)) if follows else site


class Found(NamedTuple):
    """One difference, with the error where that was measured."""

    pair: CallPair
    delta: Delta
    error: LeafError | None

    @property
    def unmeasured(self) -> bool:
        """Whether all that is known is that some bits differ."""
        return self.delta.kind == "value" and self.error is None

    @property
    def wrong(self) -> bool:
        """Whether no tolerance excuses this difference."""
        if self.delta.kind in ("value", "scalar") and self.error is not None:
            return not self.error.within
        return self.delta.kind != "value"

    @property
    def gravity(self) -> tuple[bool, float, float]:
        """Differences in the order of how much they say."""
        error = self.error
        return (self.wrong, error.relative, error.absolute) if error is not None else (self.wrong, -1.0, -1.0)


def judge_site(info: SiteInfo, case: Case) -> SiteEvidence:
    """The evidence for one site, by its own calls alone."""
    comparison = case.comparisons.get(info.id, SiteComparison())
    every = _found(comparison, case.errors)
    reduced = _reduced_outside(every, comparison, case)
    longer = [one for one in every if one.delta.kind == ROWS and _is_read_alike(one, case)]
    found = [one for one in every if one.delta.leaf not in reduced or one.delta.where != "output"]
    found = [one for one in found if one not in longer]
    found = _without_keys_given_otherwise(found, comparison)
    verdict, message = _verdict(info, comparison, found, case)
    if reduced and verdict.ok:
        verdict, message = Verdict.WITHIN, f"{message}; {_told_of_reduced(every, reduced)}"
    if longer and verdict.ok:
        verdict, message = Verdict.WITHIN, f"{message}; {_told_of_longer(longer)}"
    measured = _measured_calls(found)
    errors = [one.error for one in found if one.error is not None]
    worst = max((one for one in found if one.error is not None), key=lambda one: one.gravity, default=None)
    differences = _differences(info, comparison, found, case)
    return SiteEvidence(
        site=info,
        verdict=verdict,
        message=message,
        calls=sum(not pair.unrecorded for pair in comparison.pairs),
        calls_original=comparison.calls_original,
        calls_rewritten=comparison.calls_rewritten,
        traced=len(case.traced.get(info.id, ())),
        differing=len(comparison.differing),
        measured=len(measured),
        leaves=max((_leaf_count(pair) for pair in comparison.pairs), default=0),
        max_absolute=max((error.absolute for error in errors), default=0.0),
        max_relative=max((error.relative for error in errors), default=0.0),
        max_ulp=max((error.ulp for error in errors), default=0.0),
        max_used=max((error.used for error in errors), default=0.0),
        worst=_difference(info, worst, case) if worst is not None else None,
        first=_first(differences),
        differences=tuple(differences),
        errors=_error_points(measured),
        weak_types=sum(pair.weak_types for pair in comparison.pairs),
        unrecorded=sum(pair.unrecorded for pair in comparison.pairs),
        arguments=seen_layouts(comparison, "input", case.devices // case.processes),
        results=seen_layouts(comparison, "output", case.devices // case.processes),
        only_original=comparison.on_one_side[0],
        only_rewritten=comparison.on_one_side[1],
        covered_by=case.takers.get(info.id, ()) if verdict.ok and _is_done_without(info, comparison, case) else (),
        inputs=len({pair.original.inputs.digest for pair in comparison.pairs if pair.original.inputs is not None}),
    )


def _found(comparison: SiteComparison, errors: Errors) -> list[Found]:
    """Every difference between calls, in the order of the calls."""
    pairs = sorted(comparison.differing, key=lambda pair: pair.original.order)
    return [Found(pair, delta, _error_of(pair, delta, errors)) for pair in pairs for delta in pair.deltas]


def _told_of_reduced(found: Sequence[Found], reduced: frozenset[int]) -> str:
    """Which results one of the two programs reduces in the mapped function and the other one behind it."""
    sides: dict[bool, set[str]] = {}
    for one in found:
        if one.delta.leaf in reduced and one.error is not None and one.error.reduced:
            sides.setdefault(one.error.reduced.endswith("inside"), set()).add(f"`{one.delta.path}`")
    texts = {
        False: "are returned per device and reduced outside of the mapped function",
        True: "are reduced inside the mapped function, where the original returns one per device",
    }
    return "; ".join(f"{', '.join(sorted(names))} {texts[inside]}" for inside, names in sorted(sides.items()))


def _is_read_alike(one: Found, case: Case) -> bool:
    """Whether a result with more rows on one side is the same in those of both, and so is what comes of it."""
    return case.outputs_agree and one.error is not None and one.error.within


def _told_of_longer(longer: Sequence[Found]) -> str:
    first = longer[0]
    more = f", and so on in {_count(len(longer) - 1)} more" if len(longer) > 1 else ""
    name = f"`{first.delta.path}`" if first.delta.path else "the result"
    return (
        f"{name} of call {first.pair.key.number} has {first.delta.detail}{more}: the rows that both have are "
        "equal, and the program prints the same"
    )


def _reduced_outside(found: Sequence[Found], comparison: SiteComparison, case: Case) -> frozenset[int]:
    """The results that come out for each device on one side, which reduces them behind the call, and not on the other.

    That it does is known by what it prints. What takes the place of an argument is none of them, nor is an array whose
    copies differ.
    """
    if not (comparison.lenient and case.outputs_agree):
        return frozenset()
    own = [one for one in found if one.delta.where == "output" and one.delta.leaf is not None]
    told = {one.delta.leaf for one in own if one.error is not None and one.error.reduced and not one.error.step}
    others = {
        one.delta.leaf
        for one in own
        if one.delta.kind != "value" or (one.error is not None and not (one.error.reduced or one.error.within))
    }
    sure = any(
        one.error is not None and one.error.reduced not in ("", "unsure") for one in own if one.delta.leaf in told
    )
    return frozenset(leaf for leaf in told - others if leaf is not None) if sure else frozenset()


def _without_keys_given_otherwise(found: list[Found], comparison: SiteComparison) -> list[Found]:
    """Without random keys that differ in calls of which no result does, but for rounding: one that is split in the
    mapped function stands for many that are given to it.
    """
    if not comparison.lenient:
        return found
    bad = {one.pair.key for one in found if one.delta.where != "input" and (one.wrong or one.unmeasured)}
    return [one for one in found if one.delta.where != "input" or one.pair.key in bad or not _is_key(one.delta)]


def _is_key(delta: Delta) -> bool:
    return delta.original.startswith(("uint32[", "key<"))


def _leaf_count(pair: CallPair) -> int:
    both = (pair.original.inputs, pair.original.outputs)
    return sum(len(values.signature.leaves) for values in both if values is not None)


def _measured_calls(found: Sequence[Found]) -> dict[CallKey, list[LeafError]]:
    """The errors of each differing call of which every differing leaf was measured."""
    errors: dict[CallKey, list[LeafError]] = {}
    for one in found:
        if one.error is not None:
            errors.setdefault(one.pair.key, []).append(one.error)
    incomplete = {one.pair.key for one in found if one.error is None}
    return {key: listed for key, listed in errors.items() if key not in incomplete}


def _error_of(pair: CallPair, delta: Delta, errors: Errors) -> LeafError | None:
    return None if delta.leaf is None else errors.get((pair.key, delta.where, delta.leaf))


def _error_points(measured: Mapping[CallKey, list[LeafError]]) -> tuple[ErrorPoint, ...]:
    return tuple(
        ErrorPoint(
            key.number,
            max(error.absolute for error in errors),
            max(error.relative for error in errors),
            max(error.ulp for error in errors),
        )
        for key, errors in sorted(measured.items(), key=lambda item: item[0].number)
    )


def _differences(
    info: SiteInfo, comparison: SiteComparison, found: Sequence[Found], case: Case
) -> list[CallDifference]:
    """The first differences; where the program did not finish, what is missing is not one."""
    listed = [_difference(info, one, case) for one in found[:MAX_DIFFERENCES]]
    if not case.failure:
        listed += [_divergence(info, divergence, comparison, case) for divergence in comparison.divergences]
    return sorted(listed, key=lambda one: one.order)


def _first(differences: Sequence[CallDifference]) -> CallDifference | None:
    """The first difference, with what another one of the same call gives away where it says nothing of its cause."""
    if not differences:
        return None
    first = differences[0]
    same = (first.call, first.where, first.inputs_equal)
    others = (one for one in differences if (one.call, one.where, one.inputs_equal) == same and one.hint)
    other = next(others, None)
    if first.hint or other is None:
        return first
    return replace(first, hint=f"`{other.leaf}`: {other.hint}" if other.leaf else other.hint)


def _difference(info: SiteInfo, found: Found, case: Case) -> CallDifference:
    pair, delta, error = found
    leaf = named_path(delta.where, delta.path, case.parameters(info.id))
    kind = "nan" if error is not None and error.nan_mismatch else delta.kind
    return CallDifference(
        site=info.id,
        call=pair.key.number,
        order=pair.original.order,
        where=delta.where,
        kind=kind,
        leaf=leaf,
        original=error.original if error is not None else delta.original,
        rewritten=error.rewritten if error is not None else delta.rewritten,
        inputs_equal=pair.inputs_equal,
        error=error,
        hint=hint(delta, error, pair.inputs_equal, case.devices, _is_coarse(info.id, case)),
        message=sentence(replace(delta, path=leaf), kind, error, pair.key.number, pair.inputs_equal),
        layout=delta.layout.value if delta.layout is not None else "",
    )


def _is_coarse(id_: str, case: Case) -> bool:
    """Whether a site computes in few bits on some side, or nothing is known of that."""
    types = {name for side in case.precisions for names in side.get(id_, {}).values() for name in names}
    return not types or not types.isdisjoint({"bf16", "f16"})


def _divergence(info: SiteInfo, divergence: Divergence, comparison: SiteComparison, case: Case) -> CallDifference:
    ours, theirs = (_site_name(id_, case) for id_ in (divergence.original, divergence.rewritten))
    counts = f"{_count(comparison.calls_original)} in the original, {_count(comparison.calls_rewritten)} rewritten"
    where = (
        f"mapped call {divergence.position} of the program is {ours} in the original and {theirs} in the rewritten one"
    )
    return CallDifference(
        site=info.id,
        call=divergence.number,
        order=divergence.position,
        where="call",
        kind=divergence.kind,
        original=ours,
        rewritten=theirs,
        message=f"{where} ({counts}){_LEFT_OUT if divergence.dropped else ''}",
    )


_LEFT_OUT = ": the call is left out, and no later call shows that the rewritten program has its results"


def _site_name(id_: str, case: Case) -> str:
    return str(case.sites.get(id_, SiteInfo(id_))) if id_ else "missing"


def _verdict(info: SiteInfo, comparison: SiteComparison, found: Sequence[Found], case: Case) -> tuple[Verdict, str]:
    unmeasured = [one for one in found if one.unmeasured]
    wrong = [one for one in found if one.wrong]
    unstable = _first_instability(info.id, comparison, case)
    if unstable:
        return Verdict.NONDETERMINISTIC, unstable
    if wrong or (unmeasured and not _measured_calls(found)):
        return Verdict.DIFFERENT, _difference(info, (wrong or unmeasured)[0], case).message
    if info.id in case.stale:
        return Verdict.DIFFERENT, _told_of_stale(case.stale[info.id], case)
    if _is_done_without(info, comparison, case):
        count = _count(comparison.calls_original)
        if info.id in case.takers:
            return Verdict.EQUAL, f"{count} in the original, {_told_of_dropped(info, case)}"
        return Verdict.DIFFERENT, (
            f"{count} in the original, none in the migrated program: no mapped or jitted function that it calls has "
            "this name or could return these results"
        )
    if comparison.divergences and not case.failure:
        return Verdict.DIFFERENT, _divergence(info, comparison.divergences[0], comparison, case).message
    if case.failure and _unfinished(info.id, comparison, case):
        return Verdict.FAILED, case.failure
    if not comparison.pairs:
        return _not_exercised(info, comparison, case)
    return _agreement(info, comparison, found, case)


def _agreement(info: SiteInfo, comparison: SiteComparison, found: Sequence[Found], case: Case) -> tuple[Verdict, str]:
    """The verdict on a site of which nothing is wrong: how equal its calls are."""
    told = [pair for pair in comparison.pairs if not pair.unrecorded]
    if not told:
        return Verdict.NOT_EXERCISED, "none of its calls fitted in the log: verify a shorter run"
    calls = _count(len(told)) + (f" of {len(comparison.pairs)}" if len(told) < len(comparison.pairs) else "")
    besides = _one_sided(comparison)
    if comparison.dropped and info.id in case.takers:
        besides += f"; {_count(len(comparison.dropped))} more in the original, {_told_of_dropped(info, case)}"
    if not found:
        return Verdict.EQUAL, f"{calls} bitwise equal{besides}"
    products = _other_precisions(info.id, case, _PRODUCTS)
    if products:
        return Verdict.DIFFERENT, f"{calls} within rounding, but {products}"
    # Gradients through replicated parameters are summed by JAX, in the precision in which it finds them.
    sums = _other_precisions(info.id, case, _SUMS)
    besides = f"{f'; {sums}' if sums else ''}{_sampling([one for one in found if one.unmeasured])}{besides}"
    return Verdict.WITHIN, f"{calls} equal, {len(comparison.differing)} of them within rounding{besides}"


def _is_done_without(info: SiteInfo, comparison: SiteComparison, case: Case) -> bool:
    """Whether nothing in a migration made by hand stands for a site that the original calls."""
    return info.counterpart == "" and comparison.lenient and not comparison.calls_rewritten and not case.failure


def _told_of_dropped(info: SiteInfo, case: Case) -> str:
    """Why the rewritten program may do without calls."""
    names = ", ".join(_site_name(taker, case) for taker in case.takers[info.id])
    if not names:
        return "none in the rewritten program; its function only returns its arguments"
    return f"none in the rewritten program; {names}, which takes the results, was given equal arguments"


def _told_of_stale(stale: Stale, case: Case) -> str:
    def named(origin: Origin) -> str:
        return f"call {origin.call} of {_site_name(origin.site, case)}"

    one, other = named(stale.original), named(stale.rewritten)
    told = f"call {stale.call}, argument {stale.argument}: "
    if one == other:
        return f"{told}another one of the results of {one} than in the original"
    return f"{told}the result of {other}, where the original passes that of {one}"


_PRODUCTS, _SUMS = "products", "sums over devices"


def _other_precisions(id_: str, case: Case, name: str) -> str:
    """How a site does one kind of operation in other precisions than the original, where both say so."""
    types, others = (side.get(id_, {}).get(name, []) for side in case.precisions)
    if not types or not others or set(types) == set(others):
        return ""
    return f"its {name} are in {_types(others)} where the original's are in {_types(types)}"


_TYPES = {"bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64"}


def _types(names: Sequence[str]) -> str:
    return " and ".join(_TYPES.get(name, name) for name in names)


def _one_sided(comparison: SiteComparison) -> str:
    """Which results were not compared, because one side has none."""
    told = [
        f"only the {side} program returns {', '.join(names[:_NAMED])}{' and more' if len(names) > _NAMED else ''}"
        for side, names in zip(("original", "rewritten"), comparison.on_one_side, strict=True)
        if names
    ]
    return "".join(f"; {one}" for one in told)


def _sampling(unmeasured: Sequence[Found]) -> str:
    calls = len({one.pair.key for one in unmeasured})
    return f"; {_count(calls)} more that differ in bits were not measured" if calls else ""


def _count(calls: int) -> str:
    return "1 call" if calls == 1 else f"{calls} calls"


def _first_instability(id_: str, comparison: SiteComparison, case: Case) -> str:
    """Why nothing can be said of a site whose program does not repeat itself, empty where it does.

    A difference that comes before the first call in which a side differs from itself is real.
    """
    first = comparison.first_difference
    for side, unstable in (("original", case.unstable), ("rewritten", case.unstable_rewritten)):
        call = unstable.get(id_)
        if call is not None and (first is None or call <= first):
            return (
                f"the {side} program differs from itself from call {call} on: seed it, or compare a part that repeats"
            )
    return ""


def _unfinished(id_: str, comparison: SiteComparison, case: Case) -> bool:
    return any(call.site == id_ for call in case.flying) or comparison.calls_rewritten < comparison.calls_original


def _not_exercised(info: SiteInfo, comparison: SiteComparison, case: Case) -> tuple[Verdict, str]:
    if comparison.dropped and info.id in case.takers:
        count = _count(comparison.calls_original)
        told = f"{count} in the original, {_told_of_dropped(info, case)}: its rewrite did not run"
        return Verdict.NOT_EXERCISED, told
    if case.traced.get(info.id):
        return (
            Verdict.NOT_EXERCISED,
            "called only inside another transformation (jit, grad, vmap), where there are no values to compare",
        )
    return Verdict.NOT_EXERCISED, "not called in either run: verify a command that calls it"


def _covered(evidence: SiteEvidence, found: Mapping[str, SiteEvidence], case: Case) -> SiteEvidence:
    """A site that ran only inside the calls of other sites is as good as those: its results are part of theirs."""
    enclosing = case.traced.get(evidence.site.id, ())
    if evidence.verdict is not Verdict.NOT_EXERCISED or not enclosing or not all(enclosing):
        return evidence
    outer = sorted({within[0] for within in enclosing})
    if not all(id_ in found and found[id_].calls for id_ in outer):
        return evidence
    worst = max((found[id_] for id_ in outer), key=lambda one: one.verdict.severity)
    names = ", ".join(str(found[id_].site) for id_ in outer)
    message = f"runs inside {names}, whose calls were compared"
    if not is_enclosing(worst.site.id):
        return replace(evidence, verdict=worst.verdict, message=message, covered_by=tuple(outer))
    told = message if worst.verdict.ok else f"{message}: {worst.message}"
    return replace(worst, site=evidence.site, message=told, traced=evidence.traced, covered_by=tuple(outer))


def gravest(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of a whole, from those of its parts; of nothing it is `not exercised`."""
    return max(verdicts, key=lambda verdict: verdict.severity, default=Verdict.NOT_EXERCISED)
