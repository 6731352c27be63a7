"""What is known when the sites are judged, and each single difference with its error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from jaxmigrate.verify.comparison import CallKey, CallPair, Delta, SiteComparison
from jaxmigrate.verify.model import InFlight, LeafError, SiteInfo
from jaxmigrate.verify.origins import Stale

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
    give. `handed_on` are files outside of the project that one run of the original wrote and the next one read.
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
    handed_on: tuple[str, ...] = ()
    precisions: tuple[Mapping[str, Mapping[str, Sequence[str]]], Mapping[str, Mapping[str, Sequence[str]]]] = ({}, {})

    def parameters(self, site: str) -> tuple[str, ...]:
        """The names of the parameters of what is mapped at a site, by either side."""
        return max(self.comparisons[site].parameters, key=len) if site in self.comparisons else ()


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


def measured_calls(found: Sequence[Found]) -> dict[CallKey, list[LeafError]]:
    """The errors of each differing call of which every differing leaf was measured."""
    errors: dict[CallKey, list[LeafError]] = {}
    for one in found:
        if one.error is not None:
            errors.setdefault(one.pair.key, []).append(one.error)
    incomplete = {one.pair.key for one in found if one.error is None}
    return {key: listed for key, listed in errors.items() if key not in incomplete}


def site_name(id_: str, case: Case) -> str:
    """A site as sentences name it."""
    return str(case.sites.get(id_, SiteInfo(id_))) if id_ else "missing"


def calls_told(calls: int) -> str:
    """A number of calls in words."""
    return "1 call" if calls == 1 else f"{calls} calls"
