"""What the runs of a verification come to: what there is to judge, and what is told once that is done."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence

from jaxmigrate.verify import environment as env
from jaxmigrate.verify.case import Case, Errors
from jaxmigrate.verify.compare import compare
from jaxmigrate.verify.comparison import SiteComparison
from jaxmigrate.verify.judge import gravest
from jaxmigrate.verify.match import with_counterparts
from jaxmigrate.verify.merge import NO_CALL, coverage, not_compared
from jaxmigrate.verify.model import (
    GPU,
    ORIGINAL,
    REWRITTEN,
    Evidence,
    SiteEvidence,
    SiteInfo,
    Verdict,
    cause_of,
)
from jaxmigrate.verify.origins import stale_arguments, takers
from jaxmigrate.verify.outputs import output_differences
from jaxmigrate.verify.recording import ENCLOSING, THROUGH, Recording, is_enclosing, is_through
from jaxmigrate.verify.seen import against_plan
from jaxmigrate.verify.session import Session, sharded_sites
from jaxmigrate.verify.workshop import Run
from jaxmigrate.verify.written import written_more

SHOWN = 3  # files


def case_of(session: Session, comparison: Mapping[str, SiteComparison], errors: Errors) -> Case:
    """All that judging takes: the comparison, how large the differences are, and what the runs say besides."""
    originals, rewritten = session.of(ORIGINAL), session.of(REWRITTEN)
    failed = rewritten[0].summary if not rewritten[0].summary.ok else None
    return Case(
        comparisons=comparison,
        others=sharded_sites(originals[0].recording, session.workshop.request),
        sites=_sites(session, comparison),
        devices=rewritten[0].summary.devices or session.workshop.request.devices,
        processes=session.workshop.request.processes,
        errors=errors,
        unstable=_instability(originals),
        unstable_rewritten=_instability(rewritten),
        traced=_traced(originals[0].recording),
        failure=failed.message if failed else "",
        flying=failed.in_flight if failed else (),
        stale=stale_arguments(comparison),
        takers=takers(comparison, originals[0].recording.copying()),
        handed_on=_handed_on(originals),
        precisions=(_precisions(session.nudged, comparison), _precisions(rewritten[0], comparison)),
    )


def _written_outside(runs: Iterable[Run]) -> str:
    """The files outside of the project that runs wrote, but for temporary ones."""
    temporary = os.path.join(os.path.realpath(tempfile.gettempdir()), "")
    names = sorted({name for run in runs for name in run.recording.wrote_outside() if not name.startswith(temporary)})
    return _shortened(names)


def _shortened(names: Sequence[str]) -> str:
    return f"{', '.join(names[:SHOWN])}{' and more' if len(names) > SHOWN else ''}"


def _handed_on(runs: list[Run]) -> tuple[str, ...]:
    """The files outside of the project that a run wrote and a later one read: their copies of the project are apart."""
    later = frozenset[str]().union(*(run.recording.read_outside() for run in runs[1:]))
    return tuple(sorted(later & frozenset[str]().union(*(run.recording.wrote_outside() for run in runs[:-1]))))


def _precisions(run: Run | None, sites: Iterable[str]) -> dict[str, dict[str, list[str]]]:
    return {site: run.recording.precisions(site) for site in sites} if run is not None else {}


def _sites(session: Session, seen: Iterable[str]) -> dict[str, SiteInfo]:
    """The sites that were asked for, and those that marks name besides."""
    request, recording = session.workshop.request, session.of(ORIGINAL)[0].recording
    known = {site.id: site for site in request.sites}
    names = {call.site: call.function for call in recording.calls() if request.unmarked or is_enclosing(call.site)}
    others = sharded_sites(recording, request)
    names |= {site: name for log in recording.ordered() for site, name in log.made.items() if site in others}
    traced = {site for log in recording.ordered() for site, _ in log.traced} & (others | recording.through())
    found = known | {
        id_: _through_site(id_, recording)
        if is_through(id_)
        else _unmarked_site(id_, names.get(id_, ""), id_ in others)
        for id_ in (*seen, *sorted(traced))
        if id_ not in known
    }
    return with_counterparts(found, session.places) if session.workshop.request.by_hand and session.places else found


def _through_site(id_: str, recording: Recording) -> SiteInfo:
    """A site that goes by another name of a map: it is named after where the original maps by that name."""
    logs = [log for log in recording.ordered() if id_ in log.made]
    path, _, line = logs[0].places.get(id_, "").rpartition(":") if logs else ("", "", "")
    reference = id_.removeprefix(THROUGH).partition(",")[0]
    return SiteInfo(id_, path, int(line or 0), name=logs[0].made[id_] if logs else "", reference=reference)


def _unmarked_site(id_: str, name: str, sharded: bool) -> SiteInfo:
    """A site that no mark names; what is called in place of one is named after its place, as `path:line`."""
    place = id_.removeprefix(ENCLOSING) if sharded else id_
    path, _, line = place.partition(",")[0].rpartition(":")
    if is_enclosing(place) or not line.isdigit():
        return SiteInfo(id_, name=name)
    return SiteInfo(id_, path, int(line), name=name)


def _instability(runs: list[Run]) -> dict[str, int]:
    """The first call of each site in which a side differs from itself, for the sites where it does."""
    if len(runs) < 2 or not all(run.summary.ok for run in runs):
        return {}
    found: dict[str, int] = {}
    for run in runs[1:]:
        for id_, site in compare(runs[0].recording, run.recording).items():
            if site.first_difference is not None:
                found[id_] = min(site.first_difference, found.get(id_, site.first_difference))
    return found


def _traced(recording: Recording) -> dict[str, list[tuple[str, ...]]]:
    found: dict[str, list[tuple[str, ...]]] = {}
    for log in recording.ordered():
        for site, within in log.traced:
            found.setdefault(site, []).append(within)
    return found


def failed_sites(session: Session, message: str) -> tuple[SiteEvidence, ...]:
    """No site can be judged if the original itself does not run."""
    recording = session.runs[0].recording
    calls = [call.site for call in recording.calls() if not call.traced]
    traced = _traced(recording)
    return tuple(
        SiteEvidence(
            site=info,
            verdict=Verdict.FAILED,
            message=message,
            calls_original=calls.count(id_),
            traced=len(traced.get(id_, ())),
        )
        for id_, info in _sites(session, ()).items()
    )


def evidence_of(session: Session, sites: tuple[SiteEvidence, ...]) -> Evidence:
    """What is told of the runs, with the verdicts on the sites."""
    request = session.workshop.request
    outputs = differing_outputs(session, sites)
    others = [*([Verdict.FAILED] if session.failed else []), *([Verdict.DIFFERENT] if outputs else [])]
    verdict = gravest([*(site.verdict for site in sites), *others])
    compared = bool(session.of(REWRITTEN)) and not session.failed
    return Evidence(
        verdict=verdict,
        message=_message(session, sites, verdict, outputs),
        sites=sites,
        runs=tuple(run.summary for run in session.runs),
        coverage=coverage(sites),
        command=request.command,
        cwd=request.cwd,
        devices=request.devices,
        processes=request.processes,
        tolerances=request.tolerances,
        environment=_shown_environment(session),
        seconds=0.0,
        outputs_equal=not outputs if compared else None,
        outputs=outputs,
        notes=_notes(session, sites),
        untouched=tuple(str(site) for site in _untouched(session, sites)),
        passed_on=request.passed_on,
    )


def _untouched(session: Session, sites: tuple[SiteEvidence, ...]) -> list[SiteInfo]:
    """The sites that were not reached, in files that are the same on both sides."""
    told = {site.site.id for site in sites}
    return [site for site in session.workshop.request.sites if not site.changed and site.id not in told]


def _message(session: Session, sites: tuple[SiteEvidence, ...], verdict: Verdict, outputs: tuple[str, ...]) -> str:
    if session.failed is not None and (session.failed.side == ORIGINAL or verdict is Verdict.FAILED):
        return session.failed.message
    if not sites:
        return outputs[0] if outputs else "there is no site to compare"
    found = coverage(sites)
    reached = f"{found.exercised} of {found.sites} sites exercised"
    calls = sum(site.calls for site in sites)
    compared = f"{calls} call{'' if calls == 1 else 's'} compared"
    cause = cause_of(sites) if verdict is Verdict.DIFFERENT else None
    gravest_site = cause or next((site for site in sites if site.verdict is verdict), None)
    if gravest_site is None:
        return f"{outputs[0]}; {reached}, {compared}: all {gravest(s.verdict for s in sites).value}"
    if verdict is Verdict.NOT_EXERCISED:
        return f"{reached}; {not_compared(sites)}"
    if not verdict.ok:
        return f"{gravest_site.site}: {gravest_site.message}"
    return f"{reached}, {compared}: all {verdict.value}"


def _shown_environment(session: Session) -> dict[str, str]:
    flags = session.runs[0].summary.versions.get("xla_flags", "")
    shown = env.shown_environment({**os.environ, **session.workshop.request.environment})
    shown |= {"NPROC": "64", "PYTHONHASHSEED": "0"}
    if session.workshop.request.platform == GPU:
        shown.pop("JAX_PLATFORMS", None)
        return shown | ({"XLA_FLAGS": flags} if flags else {})
    shown["JAX_PLATFORMS"] = "cpu"
    return shown | {"XLA_FLAGS": flags or env.with_device_count("", session.workshop.request.devices)}


def _notes(session: Session, sites: tuple[SiteEvidence, ...]) -> tuple[str, ...]:
    """What a reader should know besides the verdicts."""
    notes = []
    devices = session.runs[0].summary.devices
    asked = session.workshop.request.devices * session.workshop.request.processes
    if devices is not None and devices != asked:
        notes.append(f"the program chose {devices} devices itself, not the {asked} asked for")
    versions = {run.summary.side: run.summary.versions.get("jax") for run in session.runs if run.summary.versions}
    if len({*versions.values()}) > 1:
        notes.append("; ".join(f"the {side} program ran on jax {version}" for side, version in versions.items()))
    alone = _untouched(session, sites)
    if alone:
        notes.append(f"not called, in files that did not change: {len(alone)} of the sites")
    written = _written_outside(session.runs)
    if written:
        notes.append(
            f"the program writes outside of the project, where every run meets the last one's files: {written}"
        )
    more = _written_more(session)
    if more:
        notes.append(f"only the rewritten program writes {_shortened(more)}")
    weak = sum(site.weak_types for site in sites)
    if weak:
        notes.append(f"{weak} results have another weak type than in the original; their values were compared")
    traced = [str(site.site) for site in sites if site.traced and not site.calls and not site.covered_by]
    if traced:
        notes.append(f"called only inside jit, grad or vmap, so that no values were compared: {', '.join(traced)}")
    notes += [told for site in sites for told in against_plan(site.site, site.arguments, site.results)]
    unrecorded = sum(site.unrecorded for site in sites)
    if unrecorded:
        notes.append(
            f"{unrecorded} calls were not compared, because their arrays did not fit in the log: verify a shorter run"
        )
    if all(site.verdict is Verdict.NOT_EXERCISED for site in sites) and sites:
        notes.append(NO_CALL)
    return tuple(notes)


def _written_more(session: Session) -> list[str]:
    originals, rewritten = session.of(ORIGINAL), session.of(REWRITTEN)
    if not originals or not rewritten or session.failed:
        return []
    return written_more(originals[0].files, rewritten[0].files)


def differing_outputs(session: Session, sites: tuple[SiteEvidence, ...], *, rounded: bool = False) -> tuple[str, ...]:
    """What the programs print or write in another way, unless the original does not repeat it itself."""
    originals, rewritten = session.of(ORIGINAL), session.of(REWRITTEN)
    if session.failed or not originals or not rewritten:
        return ()
    rounded = rounded or any(site.verdict is not Verdict.EQUAL for site in sites if site.calls)
    again = originals[1] if len(originals) > 1 else None
    again = session.nudged if rounded and session.nudged is not None else again
    boot, known = session.workshop.boot, _sites(session, [call.site for call in originals[0].recording.calls()])
    return output_differences(originals[0], rewritten[0], again, boot, known, rounded=rounded)
