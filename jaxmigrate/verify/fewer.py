"""Which calls of a site are the same in both runs where the rewritten program makes fewer of them.

A map that only copies or synchronises is called less often by a program that has its arrays in another way. Which of
its calls are left is told by where they stand among the calls of the other sites, and then by what they are given:
counted from the first one, each call behind one that is gone would be compared with another one's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from jaxmigrate.verify.recording import Call

# How many of the original's calls are looked at for one of the rewritten program.
_MOST_AHEAD = 64

Pairs = list[tuple[Call, Call]]


def pairs_of_fewer(
    ours: Sequence[Call], theirs: Sequence[Call], agree: Callable[[Call, Call], bool]
) -> dict[str, Pairs]:
    """The calls that are the same, for each site that the rewritten program calls less often than the original.

    Of a site that it calls where the original does not, nothing is said: it makes its calls in another order.
    """
    counts, counts_rewritten = _counts(ours), _counts(theirs)
    steady = {site for site, count in counts.items() if counts_rewritten.get(site) == count}
    phases, phases_rewritten = _phases(ours, steady), _phases(theirs, steady)
    found: dict[str, Pairs] = {}
    for site, count in counts.items():
        if counts_rewritten.get(site, 0) < count:
            pairs = _pairs(phases[site], phases_rewritten.get(site, {}), agree)
            found |= {site: pairs} if pairs is not None else {}
    return found


def _counts(calls: Sequence[Call]) -> dict[str, int]:
    found: dict[str, int] = {}
    for call in calls:
        found[call.site] = found.get(call.site, 0) + 1
    return found


def _phases(calls: Sequence[Call], steady: set[str]) -> dict[str, dict[int, list[Call]]]:
    """The calls of each site by how many calls of the steady sites, which both runs make as often, come before."""
    phase = 0
    found: dict[str, dict[int, list[Call]]] = {}
    for call in calls:
        if call.site in steady:
            phase += 1
        else:
            found.setdefault(call.site, {}).setdefault(phase, []).append(call)
    return found


def _pairs(
    ours: Mapping[int, list[Call]], theirs: Mapping[int, list[Call]], agree: Callable[[Call, Call], bool]
) -> Pairs | None:
    """The pairs of one site, None where the rewritten program has a call too many between two others."""
    found: Pairs = []
    for phase, calls in sorted(theirs.items()):
        known = ours.get(phase, [])
        if len(known) < len(calls):
            return None
        found += _in_order(known, calls, agree)
    return found


def _in_order(ours: Sequence[Call], theirs: Sequence[Call], agree: Callable[[Call, Call], bool]) -> Pairs:
    """For each call the first that is given the same, as long as enough are left; else the next one."""
    found: Pairs = []
    at, spare = 0, len(ours) - len(theirs)
    for call in theirs:
        ahead = ours[at : at + 1 + min(spare, _MOST_AHEAD)]
        skipped = next((number for number, one in enumerate(ahead) if agree(one, call)), 0)
        found.append((ours[at + skipped], call))
        at, spare = at + skipped + 1, spare - skipped
    return found
