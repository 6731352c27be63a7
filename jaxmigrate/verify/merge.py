"""One verdict from several commands: each reaches some sites, together they have to reach them all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from jaxmigrate.verify.judge import gravest
from jaxmigrate.verify.model import Coverage, Evidence, Part, SiteEvidence, Verdict

_NAMED = 5
# What a command is called, or its name ends in, that was run with one process and then with two.
ONE, TWO = "1 process", "2 processes"
NO_CALL = "the command made no mapped call at all"


def merge(found: Mapping[str, Evidence]) -> Evidence:
    """The evidence of several commands, by their names, as that of one verification; one alone stays as it is."""
    evidences = [*found.values()]
    if len(evidences) == 1:
        return evidences[0]
    by_site: dict[str, list[tuple[str, SiteEvidence]]] = {}
    for name, evidence in found.items():
        for site in evidence.sites:
            by_site.setdefault(site.site.id, []).append((name, site))
    sites = tuple(merge_site(told) for told in by_site.values())
    failed = [e.verdict for e in evidences if e.outputs or any(not run.ok for run in e.runs)]
    verdict = gravest([*(site.verdict for site in sites), *failed])
    return replace(
        evidences[0],
        verdict=verdict,
        message=_message(found, sites, verdict),
        sites=sites,
        runs=tuple(replace(run, command=name) for name, evidence in found.items() for run in evidence.runs),
        coverage=coverage(sites),
        seconds=sum(evidence.seconds for evidence in evidences),
        outputs_equal=_all([evidence.outputs_equal for evidence in evidences]),
        outputs=tuple(f"{name}: {told}" for name, evidence in found.items() for told in evidence.outputs),
        notes=_notes(found),
        untouched=tuple(name for name in evidences[0].untouched if all(name in one.untouched for one in evidences)),
        parts=tuple(
            Part(
                name,
                evidence.verdict,
                evidence.command,
                evidence.cwd,
                evidence.devices,
                evidence.processes,
                evidence.environment,
                evidence.seconds,
            )
            for name, evidence in found.items()
        ),
    )


def merge_site(told: Sequence[tuple[str, SiteEvidence]]) -> SiteEvidence:
    """What all commands together say of a site: the gravest of those that reached it."""
    reached = [(name, site) for name, site in told if site.verdict is not Verdict.NOT_EXERCISED]
    if not reached:
        return told[0][1]
    name, worst = max(reached, key=lambda one: one[1].verdict.severity)
    sites = [site for _, site in reached]
    return replace(
        worst,
        message=worst.message if len(reached) == 1 and worst.verdict.ok else f"{name}: {worst.message}",
        calls=sum(site.calls for site in sites),
        calls_original=sum(site.calls_original for site in sites),
        calls_rewritten=sum(site.calls_rewritten for site in sites),
        traced=sum(site.traced for site in sites),
        differing=sum(site.differing for site in sites),
        measured=sum(site.measured for site in sites),
        unrecorded=sum(site.unrecorded for site in sites),
        inputs=sum(site.inputs for site in sites),
        weak_types=sum(site.weak_types for site in sites),
        max_absolute=max(site.max_absolute for site in sites),
        max_relative=max(site.max_relative for site in sites),
        max_ulp=max(site.max_ulp for site in sites),
        max_used=max(site.max_used for site in sites),
    )


def coverage(sites: Iterable[SiteEvidence]) -> Coverage:
    """How many sites were reached, and how many of them agree."""
    sites = tuple(sites)
    return Coverage(
        sites=len(sites),
        exercised=sum(bool(site.calls or site.covered_by) for site in sites),
        equal=sum(site.verdict is Verdict.EQUAL for site in sites),
        within=sum(site.verdict is Verdict.WITHIN for site in sites),
    )


def not_compared(sites: Iterable[SiteEvidence]) -> str:
    """The sites of which nothing is known, by name as far as a sentence can hold them."""
    names = [str(one.site) for one in sites if one.verdict is Verdict.NOT_EXERCISED]
    more = [f"and {len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return f"not compared: {', '.join([*names[:_NAMED], *more])}"


def _message(found: Mapping[str, Evidence], sites: Sequence[SiteEvidence], verdict: Verdict) -> str:
    told = coverage(sites)
    reached = f"{told.exercised} of {told.sites} sites exercised{_how_often(found)}"
    if verdict is Verdict.NOT_EXERCISED:
        return f"{reached}; {not_compared(sites)}"
    if not verdict.ok:
        site = next((site for site in sites if site.verdict is verdict and not site.follows), None)
        name, worst = max(found.items(), key=lambda one: one[1].verdict.severity)
        return f"{site.site}: {site.message}" if site is not None else f"{name}: {worst.message}"
    calls = sum(site.calls for site in sites)
    return f"{reached}, {calls} call{'' if calls == 1 else 's'} compared: all {verdict.value}"


def _how_often(found: Mapping[str, Evidence]) -> str:
    """By how many commands and, where one was run in both ways, with how many processes."""
    twice = sum(name.endswith(TWO) for name in found)
    by = f" by {len(found) - twice} commands" if len(found) - twice > 1 else ""
    return f"{by}, with one process and with two" if twice else by


def _notes(found: Mapping[str, Evidence]) -> tuple[str, ...]:
    commands: dict[str, list[str]] = {}
    for name, evidence in found.items():
        for note in evidence.notes:
            commands.setdefault(note, []).append(name)
    return tuple(
        note if len(names) == len(found) else f"{', '.join(names)}: {note}" for note, names in commands.items()
    )


def _all(answers: Sequence[bool | None]) -> bool | None:
    """Whether all are true; None where nothing is known of some and none is false."""
    return False if False in answers else None if None in answers else True
