"""Runs the original and the rewritten program, and once more what a difference needs to be understood.

Programs that agree are run once each. Where they differ the original runs again, to tell a broken rewrite from a
program that does not repeat itself, and both leave on disk exactly the arrays that differ.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from jaxmigrate.verify import environment as env
from jaxmigrate.verify.case import Case, Errors, Found
from jaxmigrate.verify.compare import (
    ROWS,
    CallKey,
    CallPair,
    Delta,
    SiteComparison,
    compare,
    first_other_result,
)
from jaxmigrate.verify.enclosing import enclosing_sites, hides, match_enclosing, only, with_enclosing
from jaxmigrate.verify.gpus import on_gpus
from jaxmigrate.verify.judge import gravest, judge
from jaxmigrate.verify.keep import Wanted, choose
from jaxmigrate.verify.longer import with_longer
from jaxmigrate.verify.match import Callee, at_places, match, renamed, with_counterparts
from jaxmigrate.verify.measure import ArrayPair, array_pair, is_given, measure, scalar_error, tolerance_of
from jaxmigrate.verify.merge import NO_CALL, coverage, not_compared
from jaxmigrate.verify.model import (
    DEFAULT_TOLERANCES,
    GPU,
    ORIGINAL,
    REWRITTEN,
    Evidence,
    LeafError,
    Progress,
    RunSummary,
    SiteEvidence,
    SiteInfo,
    Tolerance,
    Verdict,
    VerifyError,
    VerifyRequest,
    cause_of,
)
from jaxmigrate.verify.origins import stale_arguments, takers
from jaxmigrate.verify.outputs import output_differences
from jaxmigrate.verify.recording import ENCLOSING, THROUGH, Call, Recording, is_enclosing, is_through, streams
from jaxmigrate.verify.seen import against_plan
from jaxmigrate.verify.workshop import How, ProgressCallback, Run, Workshop, open_workshop


def _silent(_: Progress) -> None:
    """Tell nobody."""


class Originals:
    """Keeps runs of originals, so that several rewrites of one program are compared with the same ones.

    It keeps those of rewrites as well: of one that only goes back on what its program did not load, they are the same.
    """

    def __init__(self) -> None:
        self._open = ExitStack()
        self._sessions: list[tuple[VerifyRequest, _Session]] = []
        self._rewritten: list[tuple[VerifyRequest, Run]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.__exit__(None, None, None)

    def session(self, request: VerifyRequest, progress: ProgressCallback) -> _Session:
        """The runs of the original that there are, or a place for them."""
        wanted = _of_original_alone(request)
        for known, session in self._sessions:
            if _shows(known, wanted):
                runs = tuple(_seen_for(request, run) for run in session.runs)
                return replace(
                    session, runs=runs, workshop=replace(session.workshop, request=request, progress=progress)
                )
        return _Session(self._open.enter_context(open_workshop(request, progress)))

    def keep(self, session: _Session) -> None:
        """Keep the runs of the original, in the place of those that there were."""
        request = session.workshop.request
        wanted = _of_original_alone(request)
        originals = tuple(run for run in session.runs if run.summary.side == ORIGINAL)
        self._sessions = [(known, other) for known, other in self._sessions if known != wanted]
        self._sessions.append((wanted, replace(session, runs=originals, places={})))
        rewritten = [run for run in session.runs if run.summary.side == REWRITTEN]
        if rewritten and rewritten[0].summary.ok and not session.enclosing and not request.by_hand:
            self._rewritten.append((request, rewritten[0]))

    def rewritten(self, request: VerifyRequest) -> Run | None:
        """A run of a rewrite that loaded the same files as this one's program would load.

        What other files had in another way, they have now as in the original.
        """
        for known, run in reversed(self._rewritten):
            paths = {*known.migrated, *request.migrated}
            other = {path for path in paths if known.migrated.get(path) != request.migrated.get(path)}
            back = all(request.migrated.get(path) == request.original.get(path) for path in other)
            if (
                _of_original_alone(known) == _of_original_alone(request)
                and back
                and other.isdisjoint(run.summary.files)
            ):
                return run
        return None


def _of_original_alone(request: VerifyRequest) -> VerifyRequest:
    """A request as far as a run of the original depends on it."""
    return replace(request, migrated={}, sites=(), passed_on=())


def _shows(known: VerifyRequest, wanted: VerifyRequest) -> bool:
    """Whether a run of the original shows what another request asks of it: of sites without marks, those and more."""
    if known.others and wanted.others and {*wanted.others} < {*known.others}:
        known = replace(known, others=wanted.others)
    return known == wanted


def verify(
    request: VerifyRequest, progress: ProgressCallback = _silent, originals: Originals | None = None
) -> Evidence:
    """Run both programs and say whether they compute the same; `originals` has runs that need not be made again.

    Whatever the programs do ends in `Evidence`; VerifyError is raised only for a command that cannot be started, a
    tree that cannot be copied, or a request that cannot be carried out.
    """
    _check(request)
    request = replace(request, root=Path(os.path.realpath(request.root)))
    started = time.monotonic()
    if request.platform == GPU:
        request = on_gpus(request)
    with ExitStack() as stack:
        kept = originals if originals is not None else stack.enter_context(Originals())
        evidence = _verify(kept.session(request, progress), kept)
    return replace(evidence, seconds=time.monotonic() - started)


def watch_original(
    request: VerifyRequest, progress: ProgressCallback, originals: Originals
) -> tuple[Recording, Evidence]:
    """Run the original alone, and keep the run for verifications of the same request.

    Returns:
        What it recorded, and how it went.
    """
    _check(request)
    request = replace(request, root=Path(os.path.realpath(request.root)))
    if request.platform == GPU:
        request = on_gpus(request)
    session = _of_original(originals.session(request, progress))
    originals.keep(session)
    failed = _failed_sites(session, session.failed.message) if session.failed else ()
    return session.runs[0].recording, _evidence(session, failed)


def _check(request: VerifyRequest) -> None:
    if not request.command:
        raise VerifyError("no command to run was given")
    if not request.root.is_dir():
        raise VerifyError(f"{request.root} is not a folder")


@dataclass(frozen=True)
class _Session:
    """The runs made so far, oldest first."""

    workshop: Workshop
    runs: tuple[Run, ...] = ()
    # For each callee without a mark that stands for one of the original, the site of the latter.
    places: Mapping[Callee, str] = field(default_factory=dict)
    enclosing: bool = False

    def of(self, side: str) -> list[Run]:
        """The runs of a side as it is, those of them that show its sites."""
        runs = (run for run in self.runs if not run.summary.nudged)
        return [run for run in runs if run.summary.side == side and run.enclosing == self.enclosing]

    def _names(self) -> tuple[str, ...]:
        """The names of what the original maps."""
        logs = (log for run in self.runs[:1] for log in run.recording.processes.values())
        return tuple(sorted({name for log in logs for name in log.made.values()}))

    @property
    def nudged(self) -> Run | None:
        """The run of the original whose arguments were moved by one rounding, if it came to its end."""
        return next((run for run in self.runs if run.summary.nudged and run.summary.ok), None)

    def plus(self, side: str, wanted: Wanted | None = None, *, nudge: bool = False) -> _Session:
        by_hand = self.workshop.request.by_hand
        attempt = 1 + sum(run.summary.side == side and not run.summary.nudged for run in self.runs)
        expected = next((run.summary.calls for run in reversed(self.runs)), None)
        if side != ORIGINAL and by_hand:
            expected = None
        run = self.workshop.run(side, attempt, expected, How(wanted, self.enclosing, nudge, self._names()))
        if side == ORIGINAL:
            whole = _seen_for(self.workshop.request, replace(run, everything=run.recording))
            return replace(self, runs=(*self.runs, whole))
        if not by_hand and not self.enclosing:
            return replace(self, runs=(*self.runs, run))
        ours = self.of(ORIGINAL)[0]
        places = self.places or _places(ours, run.recording, by_hand=by_hand)
        seen = (renamed if by_hand else with_enclosing)(run.recording, places)
        return replace(self, runs=(*self.runs, _with_recording(run, seen)), places=places)

    def with_rewritten(self, known: Run | None) -> _Session:
        """With a run of the rewrite: a `known` one where there is one and it shows what is asked for."""
        if known is None or self.enclosing or self.workshop.request.by_hand:
            return self.plus(REWRITTEN)
        self.workshop.progress(Progress("reusing", f"the run of {REWRITTEN}: nothing that it loaded has changed since"))
        return replace(self, runs=(*self.runs, known))

    @property
    def failed(self) -> RunSummary | None:
        return next((run.summary for run in self.runs if not run.summary.ok and not run.summary.nudged), None)


def _seen_for(request: VerifyRequest, run: Run) -> Run:
    """A run of the original with the calls of its sites, and of the jits around some, as far as a request asks."""
    everything = run.everything
    if everything is None:
        return run
    return _with_recording(run, only(everything, enclosing_sites(everything) | _sharded(everything, request)))


def _places(original: Run, rewritten: Recording, *, by_hand: bool) -> dict[Callee, str]:
    """What stands for which site; what is no site takes part, so that nothing of one is taken for another."""
    everything = original.everything if original.everything is not None else original.recording
    found = (match if by_hand else match_enclosing)(everything, rewritten)
    sites = {call.site for call in original.recording.calls()}
    return {place: site for place, site in found.items() if site in sites}


def _sharded(recording: Recording, request: VerifyRequest) -> frozenset[str]:
    """What a run maps or compiles with shardings in files that the rewrite changes."""
    return frozenset(site for site in recording.sharded() if _file_of(site) in request.others)


def _file_of(site: str) -> str:
    """The file of a place that no mark names."""
    return site.removeprefix(ENCLOSING).partition(",")[0].rpartition(":")[0]


def _with_recording(run: Run, recording: Recording) -> Run:
    """The run with another view of what was recorded."""
    flying = tuple(call.in_flight() for _, call in recording.in_flight())
    return replace(run, recording=recording, summary=replace(run.summary, in_flight=flying))


def _verify(session: _Session, originals: Originals) -> Evidence:
    session, evidence = _against_rewrite(_of_original(session), originals)
    originals.keep(session)
    return evidence


def _of_original(session: _Session) -> _Session:
    """With the runs of the original that a comparison begins with."""
    request = session.workshop.request
    if not session.runs:
        session = replace(session, enclosing=bool(request.others)).plus(ORIGINAL)
        if (
            not session.failed
            and not session.enclosing
            and hides(recording := session.runs[0].recording, {s.id for s in request.sites} | recording.through())
        ):
            session = replace(session, enclosing=True).plus(ORIGINAL)
        if request.twice and not session.failed:
            session = session.plus(ORIGINAL)
    return session


def _against_rewrite(session: _Session, originals: Originals) -> tuple[_Session, Evidence]:
    """What comes of running the rewrite too, and of the further runs that it takes to understand a difference."""
    if session.failed:
        return session, _evidence(session, _failed_sites(session, session.failed.message))
    session = session.with_rewritten(originals.rewritten(session.workshop.request))
    comparison = _compare_runs(session, 0)
    errors: Errors = {}
    differs = any(site.first_difference is not None for site in comparison.values())
    if not session.failed and differs:
        session, errors = _look_closer(session, comparison)
    else:
        errors = _measure(session, comparison, {})
        if not session.failed and len(session.of(ORIGINAL)) < 2 and _differing_outputs(session, ()):
            session = session.plus(ORIGINAL)
    if session.failed and session.failed.side == ORIGINAL:
        return session, _evidence(session, _failed_sites(session, session.failed.message))
    case = replace(_case(session, comparison, errors), outputs_agree=differs and _print_the_same(session))
    return session, _evidence(session, judge(case))


def _print_the_same(session: _Session) -> bool:
    """Whether both programs print numbers, and the same ones but for rounding."""
    if session.failed or not re.search(r"\d\.\d", session.runs[0].stdout.read_text(errors="replace")):
        return False
    return not _differing_outputs(session, (), rounded=True)


def _differing_outputs(session: _Session, sites: tuple[SiteEvidence, ...], *, rounded: bool = False) -> tuple[str, ...]:
    """What the programs print or write in another way, unless the original does not repeat it itself."""
    originals, rewritten = session.of(ORIGINAL), session.of(REWRITTEN)
    if session.failed or not originals or not rewritten:
        return ()
    rounded = rounded or any(site.verdict is not Verdict.EQUAL for site in sites if site.calls)
    again = originals[1] if len(originals) > 1 else None
    again = session.nudged if rounded and session.nudged is not None else again
    boot, known = session.workshop.boot, _sites(session, [call.site for call in originals[0].recording.calls()])
    return output_differences(originals[0], rewritten[0], again, boot, known, rounded=rounded)


def _compare_runs(session: _Session, attempt: int) -> dict[str, SiteComparison]:
    ours, theirs = session.of(ORIGINAL)[attempt].recording, session.of(REWRITTEN)[attempt].recording
    ours = only(ours, session.places.values())
    found = compare(ours, theirs, session.workshop.request.by_hand, whole=not session.failed)
    for site in found.values():
        site.pairs = with_longer(site.pairs) if site.lenient else site.pairs
    for site in (found[id_] for id_ in takers(found, ours.copying())):
        site.divergences = [one for one in site.divergences if not one.dropped]
    return found


def _look_closer(session: _Session, comparison: Mapping[str, SiteComparison]) -> tuple[_Session, Errors]:
    """Find out whether differences are rounding, which takes a run that shows what rounding does to the original.

    Both sides run again only where arrays are missing that the verdict needs, and the original where it may not repeat
    itself.
    """
    unkept = {id_: site for id_, site in comparison.items() if _needs_arrays(site, _placeholders(site))}
    limit = session.workshop.request.keep_bytes
    wanted = choose(unkept, limit)
    if session.nudged is None:
        session = session.plus(ORIGINAL, at_places(wanted, unkept, original=True), nudge=True)
    errors = _measure(session, comparison, {})
    missing = {id_: site for id_, site in comparison.items() if _needs_arrays(site, errors)}
    if _is_refuted(comparison, errors, missing):
        return session, errors
    wanted = choose(missing, limit)
    if missing or (_may_not_repeat_itself(session, errors) and len(session.of(ORIGINAL)) < 2):
        session = session.plus(ORIGINAL, at_places(wanted, missing, original=True))
    if missing and not session.failed:
        session = session.plus(REWRITTEN, at_places(wanted, missing, original=False))
        if not session.failed:
            errors = _measure(session, _compare_runs(session, -1), errors)
    return session, errors


def _is_refuted(
    comparison: Mapping[str, SiteComparison], errors: Errors, missing: Mapping[str, SiteComparison]
) -> bool:
    """Whether a call gives other results for equal arguments, before anything differs of which too little is known.

    A mapped function has nothing but its arguments: no other run would tell this difference from a program that does
    not repeat itself.
    """
    wrong = [
        pair.original.order
        for site in comparison.values()
        for pair in site.differing
        if pair.inputs_equal and any(_is_wrong_for_sure(pair, delta, errors) for delta in pair.deltas)
    ]
    unknown = [pair.original.order for site in missing.values() for pair in site.differing]
    return bool(wrong) and min(wrong) < min(unknown, default=min(wrong) + 1)


def _is_wrong_for_sure(pair: CallPair, delta: Delta, errors: Errors) -> bool:
    """Whether a result is wrong whatever the program prints."""
    error = errors.get((pair.key, delta.where, delta.leaf)) if delta.leaf is not None else None
    if delta.where != "output" or delta.kind == ROWS or (error is not None and error.reduced):
        return False
    return Found(pair, delta, error).wrong


def _placeholders(site: SiteComparison) -> dict[tuple[CallKey, str, int], LeafError]:
    """For each difference whose arrays both sides have kept, that it is known."""
    known = LeafError(0.0, 0.0, 0.0, within=True)
    return {
        (pair.key, delta.where, delta.leaf): known
        for pair in site.differing
        for delta in pair.deltas
        if delta.leaf is not None and array_pair(pair, delta, {}) is not None
    }


# A program that moves by more than this part of what it computes may also differ from itself.
_CALM = 1e-3
# What is computed in a few bits moves by more.
_CALM_COARSE = 6e-2
_COARSE = {"bf16", "f16"}


def _is_coarse(run: Run, site: str) -> bool:
    """Whether a site computes in a precision of few bits."""
    return not _COARSE.isdisjoint(name for names in run.recording.precisions(site).values() for name in names)


def _may_not_repeat_itself(session: _Session, errors: Errors) -> bool:
    """Whether something else than rounding may tell two runs of the original apart."""
    if session.nudged is None:
        return True
    limits = {
        site: _CALM_COARSE if _is_coarse(session.nudged, site) else _CALM for site in {key.site for key, *_ in errors}
    }
    if any(error.within and error.own > limits[key.site] for (key, *_), error in errors.items()):
        return True
    found = compare(session.of(ORIGINAL)[0].recording, session.nudged.recording)
    return any(
        _is_no_rounding(pair, delta) for site in found.values() for pair in site.differing for delta in pair.deltas
    ) or any(site.divergences for site in found.values())


def _is_no_rounding(pair: CallPair, delta: Delta) -> bool:
    """Whether an argument differs that moved numbers cannot explain: a key, a count, or that of the first call."""
    if delta.where != "input" or delta.leaf is None or pair.original.inputs is None:
        return delta.kind != "value"
    dtype = pair.original.inputs.signature.leaves[delta.leaf].dtype
    return pair.original.order == 0 or delta.kind != "value" or "float" not in dtype


def _needs_arrays(site: SiteComparison, errors: Errors) -> bool:
    """Whether a site has differences that were not measured, and none that already settles its verdict."""
    found = [
        Found(pair, delta, errors.get((pair.key, delta.where, delta.leaf)) if delta.leaf is not None else None)
        for pair in site.differing
        for delta in pair.deltas
    ]
    return any(one.unmeasured for one in found) and not any(one.wrong for one in found)


def _measure(session: _Session, comparison: Mapping[str, SiteComparison], known: Errors) -> Errors:
    """The errors of all differing leaves that both sides have kept, besides those known already."""
    request = session.workshop.request
    found = dict(known)
    pairs: dict[tuple[CallKey, str, int], ArrayPair] = {}
    nudged = _calls_by_key(session.nudged)
    equal_up_to = first_other_result(comparison.values())
    for pair in (pair for site in comparison.values() for pair in site.differing):
        for delta in pair.deltas:
            if delta.leaf is None or (pair.key, delta.where, delta.leaf) in found:
                continue
            key = (pair.key, delta.where, delta.leaf)
            if delta.kind == "scalar":
                error = scalar_error(delta, _scalar_tolerance(request))
                found |= {key: error} if error is not None else {}
            elif (arrays := array_pair(pair, delta, request.tolerances, nudged.get(pair.key))) is not None:
                of_equal = delta.where == "input" and pair.original.order <= equal_up_to
                pairs[key] = replace(arrays, of_equal=of_equal)
    if pairs:
        session.workshop.progress(Progress("comparing"))
    python = session.of(REWRITTEN)[0].summary.versions.get("executable", "")
    errors = measure([*pairs.values()], python, session.workshop.boot, request.devices)
    return {**found, **dict(zip(pairs, errors, strict=True))}


def _calls_by_key(run: Run | None) -> dict[CallKey, Call]:
    if run is None:
        return {}
    found = streams(run.recording)
    return {CallKey(key, call.site, call.number): call for key, calls in found.items() for call in calls}


def _scalar_tolerance(request: VerifyRequest) -> Tolerance:
    given = is_given("float32", request.tolerances)
    return tolerance_of("float32", request.tolerances if given else DEFAULT_TOLERANCES)


def _case(session: _Session, comparison: Mapping[str, SiteComparison], errors: Errors) -> Case:
    originals, rewritten = session.of(ORIGINAL), session.of(REWRITTEN)
    failed = rewritten[0].summary if not rewritten[0].summary.ok else None
    return Case(
        comparisons=comparison,
        others=_sharded(originals[0].recording, session.workshop.request),
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
        precisions=(_precisions(session.nudged, comparison), _precisions(rewritten[0], comparison)),
    )


def _precisions(run: Run | None, sites: Iterable[str]) -> dict[str, dict[str, list[str]]]:
    return {site: run.recording.precisions(site) for site in sites} if run is not None else {}


def _sites(session: _Session, seen: Iterable[str]) -> dict[str, SiteInfo]:
    """The sites that were asked for, and those that marks name besides."""
    request, recording = session.workshop.request, session.of(ORIGINAL)[0].recording
    known = {site.id: site for site in request.sites}
    names = {call.site: call.function for call in recording.calls() if request.unmarked or is_enclosing(call.site)}
    others = _sharded(recording, request)
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
    outputs = _differing_outputs(session, sites)
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


def _untouched(session: _Session, sites: tuple[SiteEvidence, ...]) -> list[SiteInfo]:
    """The sites that were not reached, in files that are the same on both sides."""
    told = {site.site.id for site in sites}
    return [site for site in session.workshop.request.sites if not site.changed and site.id not in told]


def _message(session: _Session, sites: tuple[SiteEvidence, ...], verdict: Verdict, outputs: tuple[str, ...]) -> str:
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
    alone = _untouched(session, sites)
    if alone:
        notes.append(f"not called, in files that did not change: {len(alone)} of the sites")
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
