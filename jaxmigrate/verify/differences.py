"""The differences of a site, as reports have them: in which call, in words, with a hint where one is sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jaxmigrate.verify.align import named_path
from jaxmigrate.verify.case import Case, Found, calls_told, site_name
from jaxmigrate.verify.comparison import Divergence, SiteComparison
from jaxmigrate.verify.hints import hint
from jaxmigrate.verify.model import CallDifference, SiteInfo
from jaxmigrate.verify.sentences import sentence

MAX_DIFFERENCES = 20


def differences_of(
    info: SiteInfo, comparison: SiteComparison, found: Sequence[Found], case: Case
) -> list[CallDifference]:
    """The first differences; where the program did not finish, what is missing is not one."""
    listed = [difference_of(info, one, case) for one in found[:MAX_DIFFERENCES]]
    if not case.failure:
        listed += [divergence_of(info, divergence, comparison, case) for divergence in comparison.divergences]
    return sorted(listed, key=lambda one: one.order)


def first_of(differences: Sequence[CallDifference]) -> CallDifference | None:
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


def difference_of(info: SiteInfo, found: Found, case: Case) -> CallDifference:
    """One difference of a call that both programs make."""
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


def divergence_of(info: SiteInfo, divergence: Divergence, comparison: SiteComparison, case: Case) -> CallDifference:
    """Where the programs do not make the same calls, as a difference."""
    ours, theirs = (site_name(id_, case) for id_ in (divergence.original, divergence.rewritten))
    counts = (
        f"{calls_told(comparison.calls_original)} in the original, {calls_told(comparison.calls_rewritten)} rewritten"
    )
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
