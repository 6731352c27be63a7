"""The runs that a verification has made so far, and those of others that need not be made again."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Self

from jaxmigrate.verify.enclosing import enclosing_sites, match_enclosing, only, with_enclosing
from jaxmigrate.verify.keep import Wanted
from jaxmigrate.verify.match import Callee, match, renamed
from jaxmigrate.verify.model import ORIGINAL, REWRITTEN, Progress, RunSummary, VerifyRequest
from jaxmigrate.verify.recording import ENCLOSING, Recording
from jaxmigrate.verify.workshop import How, ProgressCallback, Run, Workshop, open_workshop


class Originals:
    """Keeps runs of originals, so that several rewrites of one program are compared with the same ones.

    It keeps those of rewrites as well: of one that only goes back on what its program did not load, they are the same.
    """

    def __init__(self) -> None:
        self._open = ExitStack()
        self._sessions: list[tuple[VerifyRequest, Session]] = []
        self._rewritten: list[tuple[VerifyRequest, Run]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.__exit__(None, None, None)

    def session(self, request: VerifyRequest, progress: ProgressCallback) -> Session:
        """The runs of the original that there are, or a place for them."""
        wanted = _of_original_alone(request)
        for known, session in self._sessions:
            if _shows(known, wanted):
                runs = tuple(_seen_for(request, run) for run in session.runs)
                return replace(
                    session, runs=runs, workshop=replace(session.workshop, request=request, progress=progress)
                )
        return Session(self._open.enter_context(open_workshop(request, progress)))

    def keep(self, session: Session) -> None:
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


@dataclass(frozen=True)
class Session:
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

    def plus(self, side: str, wanted: Wanted | None = None, *, nudge: bool = False) -> Session:
        """With one more run of a side, leaving on disk what is `wanted`; `nudge` moves its arguments by a rounding."""
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

    def with_rewritten(self, known: Run | None) -> Session:
        """With a run of the rewrite: a `known` one where there is one and it shows what is asked for."""
        if known is None or self.enclosing or self.workshop.request.by_hand:
            return self.plus(REWRITTEN)
        self.workshop.progress(Progress("reusing", f"the run of {REWRITTEN}: nothing that it loaded has changed since"))
        return replace(self, runs=(*self.runs, known))

    @property
    def failed(self) -> RunSummary | None:
        """The first run of a program as it is that came to no good end."""
        return next((run.summary for run in self.runs if not run.summary.ok and not run.summary.nudged), None)


def _seen_for(request: VerifyRequest, run: Run) -> Run:
    """A run of the original with the calls of its sites, and of the jits around some, as far as a request asks."""
    everything = run.everything
    if everything is None:
        return run
    return _with_recording(run, only(everything, enclosing_sites(everything) | sharded_sites(everything, request)))


def _places(original: Run, rewritten: Recording, *, by_hand: bool) -> dict[Callee, str]:
    """What stands for which site; what is no site takes part, so that nothing of one is taken for another."""
    everything = original.everything if original.everything is not None else original.recording
    found = (match if by_hand else match_enclosing)(everything, rewritten)
    sites = {call.site for call in original.recording.calls()}
    return {place: site for place, site in found.items() if site in sites}


def sharded_sites(recording: Recording, request: VerifyRequest) -> frozenset[str]:
    """What a run maps or compiles with shardings in files that the rewrite changes."""
    return frozenset(site for site in recording.sharded() if _file_of(site) in request.others)


def _file_of(site: str) -> str:
    """The file of a place that no mark names."""
    return site.removeprefix(ENCLOSING).partition(",")[0].rpartition(":")[0]


def _with_recording(run: Run, recording: Recording) -> Run:
    """The run with another view of what was recorded."""
    flying = tuple(call.in_flight() for _, call in recording.in_flight())
    return replace(run, recording=recording, summary=replace(run.summary, in_flight=flying))
