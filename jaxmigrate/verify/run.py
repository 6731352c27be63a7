"""Runs the original and the rewritten program, and once more what a difference needs to be understood.

Programs that agree are run once each. Where they differ the original runs again, to tell a broken rewrite from a
program that does not repeat itself, and both leave on disk exactly the arrays that differ.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from jaxmigrate.verify.case import Errors, Found
from jaxmigrate.verify.compare import compare
from jaxmigrate.verify.comparison import ROWS, CallKey, CallPair, Delta, SiteComparison, first_other_result
from jaxmigrate.verify.enclosing import hides, only
from jaxmigrate.verify.gpus import on_gpus
from jaxmigrate.verify.judge import judge
from jaxmigrate.verify.keep import choose
from jaxmigrate.verify.longer import with_longer
from jaxmigrate.verify.match import at_places
from jaxmigrate.verify.measure import ArrayPair, array_pair, is_given, measure, scalar_error, tolerance_of
from jaxmigrate.verify.model import (
    DEFAULT_TOLERANCES,
    GPU,
    ORIGINAL,
    REWRITTEN,
    Evidence,
    LeafError,
    Progress,
    Tolerance,
    VerifyError,
    VerifyRequest,
)
from jaxmigrate.verify.origins import takers
from jaxmigrate.verify.outcome import case_of, differing_outputs, evidence_of, failed_sites
from jaxmigrate.verify.recording import Call, Recording, streams
from jaxmigrate.verify.session import Originals, Session
from jaxmigrate.verify.workshop import ProgressCallback, Run


def _silent(_: Progress) -> None:
    """Tell nobody."""


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
    failed = failed_sites(session, session.failed.message) if session.failed else ()
    return session.runs[0].recording, evidence_of(session, failed)


def _check(request: VerifyRequest) -> None:
    if not request.command:
        raise VerifyError("no command to run was given")
    if not request.root.is_dir():
        raise VerifyError(f"{request.root} is not a folder")


def _verify(session: Session, originals: Originals) -> Evidence:
    session, evidence = _against_rewrite(_of_original(session), originals)
    originals.keep(session)
    return evidence


def _of_original(session: Session) -> Session:
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


def _against_rewrite(session: Session, originals: Originals) -> tuple[Session, Evidence]:
    """What comes of running the rewrite too, and of the further runs that it takes to understand a difference."""
    if session.failed:
        return session, evidence_of(session, failed_sites(session, session.failed.message))
    session = session.with_rewritten(originals.rewritten(session.workshop.request))
    comparison = _compare_runs(session, 0)
    errors: Errors = {}
    differs = any(site.first_difference is not None for site in comparison.values())
    if not session.failed and differs:
        session, errors = _look_closer(session, comparison)
    else:
        errors = _measure(session, comparison, {})
        if not session.failed and len(session.of(ORIGINAL)) < 2 and differing_outputs(session, ()):
            session = session.plus(ORIGINAL)
    if session.failed and session.failed.side == ORIGINAL:
        return session, evidence_of(session, failed_sites(session, session.failed.message))
    case = replace(case_of(session, comparison, errors), outputs_agree=differs and _print_the_same(session))
    return session, evidence_of(session, judge(case))


def _print_the_same(session: Session) -> bool:
    """Whether both programs print numbers, and the same ones but for rounding."""
    if session.failed or not re.search(r"\d\.\d", session.runs[0].stdout.read_text(errors="replace")):
        return False
    return not differing_outputs(session, (), rounded=True)


def _compare_runs(session: Session, attempt: int) -> dict[str, SiteComparison]:
    ours, theirs = session.of(ORIGINAL)[attempt].recording, session.of(REWRITTEN)[attempt].recording
    ours = only(ours, session.places.values())
    found = compare(ours, theirs, session.workshop.request.by_hand, whole=not session.failed)
    for site in found.values():
        site.pairs = with_longer(site.pairs) if site.lenient else site.pairs
    for site in (found[id_] for id_ in takers(found, ours.copying())):
        site.divergences = [one for one in site.divergences if not one.dropped]
    return found


def _look_closer(session: Session, comparison: Mapping[str, SiteComparison]) -> tuple[Session, Errors]:
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


def _may_not_repeat_itself(session: Session, errors: Errors) -> bool:
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


def _measure(session: Session, comparison: Mapping[str, SiteComparison], known: Errors) -> Errors:
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
