"""Runs the original and the rewritten program, and once more what a difference needs to be understood.

Programs that agree are run once each. Where they differ the original runs again, to tell a broken rewrite from a
program that does not repeat itself, and both leave on disk exactly the arrays that differ.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from jaxmigrate.verify import environment as env
from jaxmigrate.verify.compare import CallKey, SiteComparison, compare
from jaxmigrate.verify.enclosing import enclosing_sites, hides, match_enclosing, only, with_enclosing
from jaxmigrate.verify.gpus import on_gpus
from jaxmigrate.verify.judge import Case, Errors, Found, gravest, judge
from jaxmigrate.verify.keep import Wanted, choose
from jaxmigrate.verify.match import Callee, at_places, match, renamed, with_counterparts
from jaxmigrate.verify.measure import ArrayPair, array_pair, measure, scalar_error, tolerance_of
from jaxmigrate.verify.merge import NO_CALL, coverage, not_compared
from jaxmigrate.verify.model import (
    GPU,
    ORIGINAL,
    REWRITTEN,
    Evidence,
    Progress,
    RunSummary,
    SiteEvidence,
    SiteInfo,
    Verdict,
    VerifyError,
    VerifyRequest,
)
from jaxmigrate.verify.recording import Recording, is_enclosing
from jaxmigrate.verify.seen import against_plan
from jaxmigrate.verify.workshop import ProgressCallback, Run, Workshop, open_workshop


def _silent(_: Progress) -> None:
    """Tell nobody."""


def verify(request: VerifyRequest, progress: ProgressCallback = _silent) -> Evidence:
    """Run both programs and say whether they compute the same.

    Whatever the programs do ends in `Evidence`; VerifyError is raised only for a command that cannot be started, a
    tree that cannot be copied, or a request that cannot be carried out.
    """
    _check(request)
    request = replace(request, root=Path(os.path.realpath(request.root)))
    started = time.monotonic()
    if request.platform == GPU:
        request = on_gpus(request)
    with open_workshop(request, progress) as workshop:
        evidence = _verify(workshop)
    return replace(evidence, seconds=time.monotonic() - started)


def _check(request: VerifyRequest) -> None:
    if not request.command:
        raise VerifyError("no command to run was given")
    if not request.root.is_dir():
        raise VerifyError(f"{request.root} is no folder")


@dataclass(frozen=True)
class _Session:
    """The runs made so far, oldest first."""

    workshop: Workshop
    runs: tuple[Run, ...] = ()
    # For each callee without a mark that stands for one of the original, the site of the latter.
    places: Mapping[Callee, str] = field(default_factory=dict)
    enclosing: bool = False

    def of(self, side: str) -> list[Run]:
        return [run for run in self.runs if run.summary.side == side and run.enclosing == self.enclosing]

    def plus(self, side: str, wanted: Wanted | None = None) -> _Session:
        by_hand = self.workshop.request.by_hand
        attempt = 1 + sum(run.summary.side == side for run in self.runs)
        expected = next((run.summary.calls for run in reversed(self.runs)), None)
        if side != ORIGINAL and by_hand:
            expected = None
        run = self.workshop.run(side, attempt, expected, wanted, self.enclosing)
        if side == ORIGINAL:
            seen = only(run.recording, enclosing_sites(run.recording))
            return replace(self, runs=(*self.runs, _with_recording(run, seen)))
        if not by_hand and not self.enclosing:
            return replace(self, runs=(*self.runs, run))
        ours = self.of(ORIGINAL)[0].recording
        places = self.places or (match if by_hand else match_enclosing)(ours, run.recording)
        seen = (renamed if by_hand else with_enclosing)(run.recording, places)
        return replace(self, runs=(*self.runs, _with_recording(run, seen)), places=places)

    @property
    def failed(self) -> RunSummary | None:
        return next((run.summary for run in self.runs if not run.summary.ok), None)


def _with_recording(run: Run, recording: Recording) -> Run:
    """The run with another view of what was recorded."""
    flying = tuple(call.in_flight() for _, call in recording.in_flight())
    return replace(run, recording=recording, summary=replace(run.summary, in_flight=flying))


def _verify(workshop: Workshop) -> Evidence:
    session = _Session(workshop).plus(ORIGINAL)
    if not session.failed and hides(session.runs[0].recording, {site.id for site in workshop.request.sites}):
        session = replace(session, enclosing=True).plus(ORIGINAL)
    if workshop.request.twice and not session.failed:
        session = session.plus(ORIGINAL)
    if session.failed:
        return _evidence(session, _failed_sites(session, session.failed.message))
    session = session.plus(REWRITTEN)
    comparison = _compare_runs(session, 0)
    errors = _measure(session, comparison, {})
    if not session.failed and any(site.first_difference is not None for site in comparison.values()):
        session, errors = _look_closer(session, comparison, errors)
    if session.failed and session.failed.side == ORIGINAL:
        return _evidence(session, _failed_sites(session, session.failed.message))
    return _evidence(session, judge(_case(session, comparison, errors)))


def _compare_runs(session: _Session, attempt: int) -> dict[str, SiteComparison]:
    ours, theirs = session.of(ORIGINAL)[attempt].recording, session.of(REWRITTEN)[attempt].recording
    return compare(only(ours, session.places.values()), theirs, session.workshop.request.by_hand)


def _look_closer(
    session: _Session, comparison: Mapping[str, SiteComparison], errors: Errors
) -> tuple[_Session, Errors]:
    """Run the original again if that was not done, and both if arrays are missing that the verdict needs."""
    missing = {id_: site for id_, site in comparison.items() if _needs_arrays(site, errors)}
    if not missing and len(session.of(ORIGINAL)) > 1:
        return session, errors
    wanted = choose(missing, session.workshop.request.keep_bytes)
    session = session.plus(ORIGINAL, at_places(wanted, missing, original=True))
    if missing and not session.failed:
        session = session.plus(REWRITTEN, at_places(wanted, missing, original=False))
        if not session.failed:
            errors = _measure(session, _compare_runs(session, -1), errors)
    return session, errors


def _needs_arrays(site: SiteComparison, errors: Errors) -> bool:
    """Whether a site has differences that were not measured, and none that already settles its verdict."""
    for pair in site.differing:
        for delta in pair.deltas:
            error = errors.get((pair.key, delta.where, delta.leaf)) if delta.leaf is not None else None
            found = Found(pair, delta, error)
            if found.unmeasured or found.wrong:
                return found.unmeasured
    return False


def _measure(session: _Session, comparison: Mapping[str, SiteComparison], known: Errors) -> Errors:
    """The errors of all differing leaves that both sides have kept, besides those known already."""
    request = session.workshop.request
    found = dict(known)
    pairs: dict[tuple[CallKey, str, int], ArrayPair] = {}
    for pair in (pair for site in comparison.values() for pair in site.differing):
        for delta in pair.deltas:
            if delta.leaf is None or (pair.key, delta.where, delta.leaf) in found:
                continue
            key = (pair.key, delta.where, delta.leaf)
            if delta.kind == "scalar":
                error = scalar_error(delta, tolerance_of("float32", request.tolerances))
                found |= {key: error} if error is not None else {}
            elif (arrays := array_pair(pair, delta, request.tolerances)) is not None:
                pairs[key] = arrays
    if pairs:
        session.workshop.progress(Progress("comparing"))
    python = session.of(REWRITTEN)[0].summary.versions.get("executable", "")
    errors = measure([*pairs.values()], python, session.workshop.boot, request.devices)
    return {**found, **dict(zip(pairs, errors, strict=True))}


def _case(session: _Session, comparison: Mapping[str, SiteComparison], errors: Errors) -> Case:
    originals, rewritten = session.of(ORIGINAL), session.of(REWRITTEN)
    failed = rewritten[0].summary if not rewritten[0].summary.ok else None
    return Case(
        comparisons=comparison,
        sites=_sites(session, comparison),
        devices=rewritten[0].summary.devices or session.workshop.request.devices,
        processes=session.workshop.request.processes,
        errors=errors,
        unstable=_instability(originals),
        unstable_rewritten=_instability(rewritten),
        traced=_traced(originals[0].recording),
        failure=failed.message if failed else "",
        flying=failed.in_flight if failed else (),
    )


def _sites(session: _Session, seen: Iterable[str]) -> dict[str, SiteInfo]:
    """The sites that were asked for, and those that marks name besides."""
    known = {site.id: site for site in session.workshop.request.sites}
    names = {call.site: call.function for call in session.of(ORIGINAL)[0].recording.calls() if is_enclosing(call.site)}
    found = known | {id_: SiteInfo(id_, name=names.get(id_, "")) for id_ in seen if id_ not in known}
    return with_counterparts(found, session.places) if session.workshop.request.by_hand and session.places else found


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


def _failed_sites(session: _Session, message: str) -> tuple[SiteEvidence, ...]:
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


def _evidence(session: _Session, sites: tuple[SiteEvidence, ...]) -> Evidence:
    request = session.workshop.request
    verdict = gravest([*(site.verdict for site in sites), *([Verdict.FAILED] if session.failed else [])])
    equal, difference = _compare_stdout(session)
    return Evidence(
        verdict=verdict,
        message=_message(session, sites, verdict),
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
        stdout_equal=equal,
        stdout_difference=difference,
        notes=_notes(session, sites),
    )


def _message(session: _Session, sites: tuple[SiteEvidence, ...], verdict: Verdict) -> str:
    if session.failed is not None and (session.failed.side == ORIGINAL or verdict is Verdict.FAILED):
        return session.failed.message
    if not sites:
        return "there is no site to compare"
    found = coverage(sites)
    reached = f"{found.exercised} of {found.sites} sites exercised"
    gravest_site = next(site for site in sites if site.verdict is verdict)
    if verdict is Verdict.NOT_EXERCISED:
        return f"{reached}; {not_compared(sites)}"
    if not verdict.ok:
        return f"{gravest_site.site}: {gravest_site.message}"
    calls = sum(site.calls for site in sites)
    return f"{reached}, {calls} calls compared: all {verdict.value}"


def _compare_stdout(session: _Session) -> tuple[bool | None, str]:
    rewritten = session.of(REWRITTEN)
    if not rewritten:
        return None, ""
    ours, theirs = (printed(run.stdout.read_text(errors="replace")) for run in (session.runs[0], rewritten[0]))
    if ours == theirs:
        return True, ""
    at = next((n for n, (one, other) in enumerate(zip(ours, theirs, strict=False)) if one != other), None)
    if at is None:
        return False, f"{len(ours)} lines in the original, {len(theirs)} rewritten"
    return False, f"line {at + 1}: {ours[at][:120]!r} in the original, {theirs[at][:120]!r} rewritten"


# What Gloo writes piece by piece, so that two of its threads can tangle their messages: the pieces, and the rest.
_GLOO_STARTS = "[Gloo] Rank "
_GLOO_PIECES = re.compile(
    r"(?:\[Gloo\] Rank |is connected to|peer ranks\.|Expected number of connected peer ranks is :|[\d\s])*"
)


def printed(text: str) -> list[str]:
    """The lines that a program has printed, without those of the library that connects its processes."""
    lines, owed = [], 0
    for line in text.splitlines():
        # Two messages that begin on one line have two ends of lines between them.
        if line.startswith(_GLOO_STARTS) or (owed and _GLOO_PIECES.fullmatch(line)):
            owed += line.count(_GLOO_STARTS) - 1
        else:
            lines.append(line)
    return lines


def _shown_environment(session: _Session) -> dict[str, str]:
    flags = session.runs[0].summary.versions.get("xla_flags", "")
    shown = env.shown_environment({**os.environ, **session.workshop.request.environment})
    shown |= {"NPROC": "64", "PYTHONHASHSEED": "0"}
    if session.workshop.request.platform == GPU:
        shown.pop("JAX_PLATFORMS", None)
        return shown | ({"XLA_FLAGS": flags} if flags else {})
    shown["JAX_PLATFORMS"] = "cpu"
    return shown | {"XLA_FLAGS": flags or env.with_device_count("", session.workshop.request.devices)}


def _notes(session: _Session, sites: tuple[SiteEvidence, ...]) -> tuple[str, ...]:
    """What a reader should know besides the verdicts."""
    notes = []
    devices = session.runs[0].summary.devices
    asked = session.workshop.request.devices * session.workshop.request.processes
    if devices is not None and devices != asked:
        notes.append(f"the program chose {devices} devices itself, not the {asked} asked for")
    versions = {run.summary.side: run.summary.versions.get("jax") for run in session.runs if run.summary.versions}
    if len({*versions.values()}) > 1:
        notes.append("; ".join(f"the {side} program ran on jax {version}" for side, version in versions.items()))
    weak = sum(site.weak_types for site in sites)
    if weak:
        notes.append(f"{weak} results have another weak type than in the original; their values were compared")
    traced = [str(site.site) for site in sites if site.traced and not site.calls and not site.covered_by]
    if traced:
        notes.append(f"called only inside jit, grad or vmap, so that no values were compared: {', '.join(traced)}")
    notes += [told for site in sites for told in against_plan(site.site, site.arguments, site.results)]
    unrecorded = sum(site.unrecorded for site in sites)
    if unrecorded:
        notes.append(f"{unrecorded} calls were not compared, because the logs had no room for their leaves")
    if all(site.verdict is Verdict.NOT_EXERCISED for site in sites) and sites:
        notes.append(NO_CALL)
    return tuple(notes)
