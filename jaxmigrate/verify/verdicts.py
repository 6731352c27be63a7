"""The verdict on one site, from its own calls, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from jaxmigrate.verify.case import Case, Found, calls_told, measured_calls, site_name
from jaxmigrate.verify.comparison import SiteComparison
from jaxmigrate.verify.differences import difference_of, divergence_of
from jaxmigrate.verify.model import SiteInfo, Verdict
from jaxmigrate.verify.origins import Origin, Stale

_NAMED = 4


def verdict_of(info: SiteInfo, comparison: SiteComparison, found: Sequence[Found], case: Case) -> tuple[Verdict, str]:
    """The verdict on a site whose differences were `found`, and what it rests on."""
    unmeasured = [one for one in found if one.unmeasured]
    wrong = [one for one in found if one.wrong]
    unstable = _first_instability(info.id, comparison, case)
    if unstable:
        return Verdict.NONDETERMINISTIC, unstable
    if wrong or (unmeasured and not measured_calls(found)):
        return Verdict.DIFFERENT, difference_of(info, (wrong or unmeasured)[0], case).message
    if info.id in case.stale:
        return Verdict.DIFFERENT, _told_of_stale(case.stale[info.id], case)
    if is_done_without(info, comparison, case):
        count = calls_told(comparison.calls_original)
        if info.id in case.takers:
            return Verdict.EQUAL, f"{count} in the original, {_told_of_dropped(info, case)}"
        return Verdict.DIFFERENT, (
            f"{count} in the original, none in the migrated program: no mapped or jitted function that it calls has "
            "this name or could return these results"
        )
    if comparison.divergences and not case.failure:
        return Verdict.DIFFERENT, divergence_of(info, comparison.divergences[0], comparison, case).message
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
    calls = calls_told(len(told)) + (f" of {len(comparison.pairs)}" if len(told) < len(comparison.pairs) else "")
    besides = _one_sided(comparison)
    if comparison.dropped and info.id in case.takers:
        besides += f"; {calls_told(len(comparison.dropped))} more in the original, {_told_of_dropped(info, case)}"
    if not found:
        return Verdict.EQUAL, f"{calls} bitwise equal{besides}"
    products = _other_precisions(info.id, case, _PRODUCTS)
    if products:
        return Verdict.DIFFERENT, f"{calls} within rounding, but {products}"
    # Gradients through replicated parameters are summed by JAX, in the precision in which it finds them.
    sums = _other_precisions(info.id, case, _SUMS)
    besides = f"{f'; {sums}' if sums else ''}{_sampling([one for one in found if one.unmeasured])}{besides}"
    return Verdict.WITHIN, f"{calls} equal, {len(comparison.differing)} of them within rounding{besides}"


def is_done_without(info: SiteInfo, comparison: SiteComparison, case: Case) -> bool:
    """Whether nothing in a migration made by hand stands for a site that the original calls."""
    return info.counterpart == "" and comparison.lenient and not comparison.calls_rewritten and not case.failure


def _told_of_dropped(info: SiteInfo, case: Case) -> str:
    """Why the rewritten program may do without calls."""
    names = ", ".join(site_name(taker, case) for taker in case.takers[info.id])
    if not names:
        return "none in the rewritten program; its function only returns its arguments"
    return f"none in the rewritten program; {names}, which takes the results, was given equal arguments"


def _told_of_stale(stale: Stale, case: Case) -> str:
    def named(origin: Origin) -> str:
        return f"call {origin.call} of {site_name(origin.site, case)}"

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
    return f"; {calls_told(calls)} more that differ in bits were not measured" if calls else ""


def _first_instability(id_: str, comparison: SiteComparison, case: Case) -> str:
    """Why nothing can be said of a site whose program does not repeat itself, empty where it does.

    A difference that comes before the first call in which a side differs from itself is real.
    """
    first = comparison.first_difference
    for side, unstable in (("original", case.unstable), ("rewritten", case.unstable_rewritten)):
        call = unstable.get(id_)
        if call is not None and (first is None or call <= first):
            advice = "seed it, or compare a part that repeats"
            if case.handed_on:
                advice = (
                    f"it reads {case.handed_on[0]}, which the run before wrote: each run begins with the files of the "
                    "project, so let it write there, by a relative path"
                )
            return f"the {side} program differs from itself from call {call} on: {advice}"
    return ""


def _unfinished(id_: str, comparison: SiteComparison, case: Case) -> bool:
    return any(call.site == id_ for call in case.flying) or comparison.calls_rewritten < comparison.calls_original


def _not_exercised(info: SiteInfo, comparison: SiteComparison, case: Case) -> tuple[Verdict, str]:
    if comparison.dropped and info.id in case.takers:
        count = calls_told(comparison.calls_original)
        told = f"{count} in the original, {_told_of_dropped(info, case)}: its rewrite did not run"
        return Verdict.NOT_EXERCISED, told
    if case.traced.get(info.id):
        return (
            Verdict.NOT_EXERCISED,
            "called only inside another transformation (jit, grad, vmap), where there are no values to compare",
        )
    return Verdict.NOT_EXERCISED, "not called in either run: verify a command that calls it"
