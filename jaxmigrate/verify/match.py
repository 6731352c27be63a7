"""Finds out which call sites of a migration made by hand stand for which sites of the original.

Nothing in the text says so. What does is what the two programs do: the name of the function that is mapped, how often
it is called and in which order, and whether its results and arguments can be the same arrays in some layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from jaxmigrate.verify.align import align
from jaxmigrate.verify.comparison import SiteComparison
from jaxmigrate.verify.keep import Wanted
from jaxmigrate.verify.model import SiteInfo
from jaxmigrate.verify.recording import Call, Recording, Values, is_enclosing

_NAMELESS = frozenset({"", "<lambda>", "wrapper", "wrapped", "inner", "fun", "fn", "f"})
# Without a common name, this share of the results must be able to hold the same.
_ENOUGH = 0.5
_CALLS_LOOKED_AT = 3


# What is called: where it is mapped, and its name; a helper maps many functions in one place.
Callee = tuple[str, str]


@dataclass(frozen=True)
class Calls:
    """The calls of one callee of one side, its rank among the others, and the names of its parameters."""

    callee: Callee
    calls: Sequence[Call]
    rank: int
    parameters: tuple[str, ...] = ()


def calls_of(recording: Recording) -> list[Calls]:
    """What a run called with values, in the order of first calls."""
    found: dict[Callee, list[Call]] = {}
    for call in recording.calls():
        if not call.traced:
            found.setdefault((call.site, call.function), []).append(call)
    return [
        Calls(callee, calls, rank, recording.parameters(callee[0]))
        for rank, (callee, calls) in enumerate(found.items())
    ]


def match(original: Recording, migrated: Recording) -> dict[Callee, str]:
    """For each callee of the migrated run that stands for one of the original, the site of the latter."""
    ours, theirs = calls_of(original), calls_of(migrated)
    scored = [
        (likeness(one, other), -abs(one.rank - other.rank), -other.rank, one.callee, other.callee)
        for one in ours
        for other in theirs
    ]
    found: dict[Callee, Callee] = {}
    for likely, _, _, site, place in sorted(scored, reverse=True):
        if likely > 0 and place not in found and site not in found.values():
            found[place] = site
    return {place: site for place, (site, _) in found.items()}


def likeness(site: Calls, place: Calls) -> float:
    """How much speaks for a callee of the migration standing for one of the original; 0 if it cannot."""
    same_name = site.callee[1] == place.callee[1] and site.callee[1] not in _NAMELESS
    looked_at = list(zip(site.calls, place.calls, strict=False))[:_CALLS_LOOKED_AT]
    both = (site.parameters, place.parameters)
    arguments = _mean(_share("input", one.inputs, other.inputs, both) for one, other in looked_at)
    ended = [(one.outputs, other.outputs) for one, other in looked_at if one.outputs and other.outputs]
    results = _mean(_share("output", *outputs, both) for outputs in ended) if ended else arguments
    if not same_name and results < _ENOUGH:
        return 0.0
    counts = sorted((len(site.calls), len(place.calls)))
    return 3.0 * same_name + 3.0 * results + 2.0 * arguments + 2.0 * counts[0] / counts[1]


def _share(
    where: str, original: Values | None, migrated: Values | None, parameters: tuple[tuple[str, ...], tuple[str, ...]]
) -> float:
    """The share of the leaves of one side that can hold what a leaf of the other one does."""
    if original is None or migrated is None:
        return 0.0
    pairs = align(where, original.signature, migrated.signature, *parameters, lenient=True).pairs
    most = max(len(original.signature.leaves), len(migrated.signature.leaves))
    return sum(not pair.problem for pair in pairs) / most if most else 1.0


def _mean(numbers: Iterable[float]) -> float:
    found = [*numbers]
    return sum(found) / len(found) if found else 0.0


def renamed(recording: Recording, sites: Mapping[Callee, str]) -> Recording:
    """The run as if its places had the names of the sites that they stand for; what stands for none is left out."""
    by_place = {place: site for (place, _), site in sites.items()}
    return replace(
        recording,
        processes={
            path: replace(
                log,
                calls=[*_renamed(log.calls, sites)],
                open_calls={call.order: call for call in _renamed(log.open_calls.values(), sites)},
                traced=[(by_place[place], within) for place, within in log.traced if place in by_place],
                parameters={by_place[place]: names for place, names in log.parameters.items() if place in by_place},
                donated={(sites[one], one[1]): leaves for one, leaves in log.donated.items() if one in sites},
                precisions={(sites[one], one[1]): of for one, of in log.precisions.items() if one in sites},
            )
            for path, log in recording.processes.items()
        },
    )


def _renamed(calls: Iterable[Call], sites: Mapping[Callee, str]) -> Iterator[Call]:
    for call in calls:
        site = sites.get((call.site, call.function))
        if site is not None:
            yield replace(call, site=site, place=call.site)


def at_places(wanted: Wanted, sites: Mapping[str, SiteComparison], original: bool) -> Wanted:
    """What is wanted of the original's calls, by the names that the recorder has for them on one of the sides."""
    found: dict[str, dict[int, Mapping[str, Sequence[int] | None]]] = {}
    for site, calls in wanted.items():
        for pair in sites[site].pairs:
            if pair.key.number in calls:
                call = pair.original if original else pair.rewritten
                found.setdefault(_recorded_as(call), {})[call.number] = calls[pair.key.number]
    return found


def _recorded_as(call: Call) -> str:
    if call.place or is_enclosing(call.site):
        return f"{call.place or call.site} {call.function}"
    return call.site


def with_counterparts(sites: Mapping[str, SiteInfo], found: Mapping[Callee, str]) -> dict[str, SiteInfo]:
    """The sites, each with the places of the migration that stand for it."""
    places: dict[str, dict[str, None]] = {}
    for (place, _), site in found.items():
        places.setdefault(site, {})[place.partition(",")[0]] = None
    return {id_: replace(site, counterpart=", ".join(places.get(id_, ()))) for id_, site in sites.items()}
