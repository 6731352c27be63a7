"""Turns what was compared and measured into the evidence for each site."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from jaxmigrate.verify.case import Case, Errors, Found, calls_told, measured_calls
from jaxmigrate.verify.comparison import ROWS, CallKey, CallPair, Delta, SiteComparison
from jaxmigrate.verify.differences import difference_of, differences_of, first_of
from jaxmigrate.verify.model import ErrorPoint, LeafError, SiteEvidence, SiteInfo, Verdict, cause_of
from jaxmigrate.verify.recording import is_enclosing
from jaxmigrate.verify.seen import seen_layouts
from jaxmigrate.verify.verdicts import is_done_without, verdict_of


def judge(case: Case) -> tuple[SiteEvidence, ...]:
    """The evidence for each site, in the order of the sites."""
    found = {id_: judge_site(info, case) for id_, info in case.sites.items()}
    own = {id_: one for id_, one in found.items() if id_ in case.others or not is_enclosing(id_)}
    covered = [_covered(evidence, found, case) for evidence in own.values()]
    sites = [one for one in covered if one.site.changed or one.verdict is not Verdict.NOT_EXERCISED]
    cause = cause_of(sites)
    return tuple(_after(site, cause) for site in sites)


def _after(site: SiteEvidence, cause: SiteEvidence | None) -> SiteEvidence:
    """A site that differs later, and is not known to do so from equal arguments, may only follow from the first."""
    if cause is None or site.first is None or cause.first is None or site.verdict is not Verdict.DIFFERENT:
        return site
    first = site.first
    is_later = first.order > cause.first.order and site.site.id != cause.site.id
    follows = is_later and (first.where == "input" or first.inputs_equal is False)
    return replace(site, follows=str(cause.site)) if follows else site


def judge_site(info: SiteInfo, case: Case) -> SiteEvidence:
    """The evidence for one site, by its own calls alone."""
    comparison = case.comparisons.get(info.id, SiteComparison())
    every = _found(comparison, case.errors)
    reduced = _reduced_outside(every, comparison, case)
    longer = [one for one in every if one.delta.kind == ROWS and _is_read_alike(one, case)]
    found = [one for one in every if one.delta.leaf not in reduced or one.delta.where != "output"]
    found = [one for one in found if one not in longer]
    found = _without_keys_given_otherwise(found, comparison)
    verdict, message = verdict_of(info, comparison, found, case)
    if reduced and verdict.ok:
        verdict, message = Verdict.WITHIN, f"{message}; {_told_of_reduced(every, reduced)}"
    if longer and verdict.ok:
        verdict, message = Verdict.WITHIN, f"{message}; {_told_of_longer(longer)}"
    measured = measured_calls(found)
    errors = [one.error for one in found if one.error is not None]
    worst = max((one for one in found if one.error is not None), key=lambda one: one.gravity, default=None)
    differences = differences_of(info, comparison, found, case)
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
        worst=difference_of(info, worst, case) if worst is not None else None,
        first=first_of(differences),
        differences=tuple(differences),
        errors=_error_points(measured),
        weak_types=sum(pair.weak_types for pair in comparison.pairs),
        unrecorded=sum(pair.unrecorded for pair in comparison.pairs),
        arguments=seen_layouts(comparison, "input", case.devices // case.processes),
        results=seen_layouts(comparison, "output", case.devices // case.processes),
        only_original=comparison.on_one_side[0],
        only_rewritten=comparison.on_one_side[1],
        covered_by=case.takers.get(info.id, ()) if verdict.ok and is_done_without(info, comparison, case) else (),
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
    more = f", and so on in {calls_told(len(longer) - 1)} more" if len(longer) > 1 else ""
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
