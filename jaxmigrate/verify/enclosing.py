"""Sites that are only called under a jit of the program's own: they are compared by the calls of that jit.

Under a jit a mapped function sees no values. Where the first run shows such a site, the program runs once more with
its own jits recorded; those that enclose a site are matched between the two sides, as in a migration made by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from jaxmigrate.verify.match import Callee, match, renamed
from jaxmigrate.verify.recording import Call, Recording, is_enclosing


def hides(recording: Recording, sites: Collection[str]) -> bool:
    """Whether a run called one of these sites, and never where its values could be seen."""
    seen = {call.site for call in recording.calls() if not call.traced}
    return any(
        site in sites and site not in seen and not within
        for log in recording.processes.values()
        for site, within in log.traced
    )


def enclosing_sites(recording: Recording) -> frozenset[str]:
    """The jits of a run in whose calls mapped functions were called."""
    outer = (within[0] for log in recording.processes.values() for _, within in log.traced if within)
    return frozenset(site for site in outer if is_enclosing(site))


def only(recording: Recording, sites: Collection[str]) -> Recording:
    """The run without the calls of any jit but these."""
    return _where(recording, lambda call: call.site in sites or not is_enclosing(call.site))


def match_enclosing(original: Recording, rewritten: Recording) -> dict[Callee, str]:
    """For each jit of the rewritten run that stands for one of the original, the latter."""
    ours, theirs = (_where(run, lambda call: is_enclosing(call.site)) for run in (original, rewritten))
    return match(ours, theirs)


def with_enclosing(recording: Recording, sites: Mapping[Callee, str]) -> Recording:
    """The rewritten run as if its jits had the names of those that they stand for; others are left out."""
    marked = {(call.site, call.function): call.site for call in recording.calls() if not is_enclosing(call.site)}
    traced = {path: log.traced for path, log in recording.processes.items()}
    found = renamed(recording, {**sites, **marked})
    logs = {path: replace(log, traced=traced[path]) for path, log in found.processes.items()}
    for path, log in logs.items():
        log.parameters.update(recording.processes[path].parameters)
        for call in log.calls:
            call.place = call.place if is_enclosing(call.site) else ""
    return replace(found, processes=logs)


def _where(recording: Recording, keep: Callable[[Call], bool]) -> Recording:
    return replace(
        recording,
        processes={
            path: replace(log, calls=[call for call in log.calls if keep(call)])
            for path, log in recording.processes.items()
        },
    )
