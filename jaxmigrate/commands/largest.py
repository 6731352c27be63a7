"""Finds the largest part of a rewrite that verifies: what does not is left as it is, and the rest is verified again.

The planner is asked for a rewrite in which some sites stay, so that arrays which cross over to them stay as well. A
file of which nothing was reached counts as one that was not given: nobody has seen what else would change in it. The
runs of the original are made once.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from jaxmigrate.commands.notebooks import in_words
from jaxmigrate.commands.planning import PlannedFile
from jaxmigrate.commands.verification import commands, verify_planned
from jaxmigrate.commands.withheld import Held, Largest, Replan, Withheld, left_with
from jaxmigrate.config import Config
from jaxmigrate.lint.linting import place
from jaxmigrate.migrate import SitePlan
from jaxmigrate.migrate.unhandled import WITHHELD
from jaxmigrate.migrate.wanted import Place
from jaxmigrate.terminal import note, plural
from jaxmigrate.verify.model import Evidence, SiteEvidence, Verdict
from jaxmigrate.verify.session import Originals

# Rewrites that are tried after the first.
MOST_MORE = 5
_NAMED = 3


def verify_before_writing(
    planned: Sequence[PlannedFile],
    config: Config,
    options: argparse.Namespace,
    replan: Replan,
    known: Originals | None = None,
    first: Evidence | None = None,
) -> Largest:
    """Verifies the rewrite as a whole and, where sites fail or are not reached, again with those as they were.

    What fails first is left first, since what fails later may only follow from it. Where no site is to blame, halves of
    the sites are tried, and then parts of a half without which the rest verifies. `known` has runs of the original, and
    `first` is what the rewrite as a whole has shown already.

    Raises:
        Failure: There is no command, or the verification could not be carried out.
    """
    files = [*planned]
    keep: dict[tuple[Path, Place], str] = {}
    aside: dict[str, PlannedFile] = {}
    withheld: dict[str, Withheld] = {}
    parts: list[list[SitePlan]] | None = None
    suspects: list[SitePlan] = []
    best: Largest | None = None
    evidence: Evidence | None = None
    with ExitStack() as stack:
        originals = known if known is not None else stack.enter_context(Originals())
        for _ in range(1 + MOST_MORE):
            candidates = _left_to_try(files, withheld)
            if not candidates:
                return best or Largest(files, withheld, evidence)
            names = {file.source.name for file in candidates}
            if first is not None:
                evidence, first = first, None
            else:
                _say_what_is_tried(candidates, config, options)
                renewed = evidence is not None and evidence.renewed
                evidence = verify_planned(files, names, config, options, renewed=renewed, originals=originals)
            if evidence.ok:
                best = Largest(files, withheld, evidence)
                parts = _halves_of(suspects)
            elif evidence.original_failed:
                break
            more = _to_leave(evidence, candidates) if best is None else {}
            if best is None:
                aside |= {file.source.name: _as_it_was(file, more) for file in _unseen(evidence, candidates)}
            if not more:
                parts = _parts(candidates) if parts is None else parts
                if not parts:
                    break
                suspects = parts.pop(0)
                keep = {place: why for place, why in keep.items() if why != _SUSPECT}
                more = {site.id: _SUSPECT for site in suspects}
            added = _places(more, files, evidence)
            withheld = {
                **withheld,
                **_by_file(more, [file for file in candidates if file.source.name not in aside], added),
            }
            withheld |= left_with(withheld, [file.plan for file in files])
            keep |= added
            files = _planned_anew(planned, replan, keep, aside)
            _say_what_is_left(more, evidence, _left_to_try(files, withheld))
    if best is not None:
        return best
    if any(why == _SUSPECT for why in keep.values()):
        keep = {place: why for place, why in keep.items() if why != _SUSPECT}
        files = _planned_anew(planned, replan, keep, aside)
    candidates = _left_to_try(files, withheld)
    if evidence is not None:
        withheld |= _refused(evidence, candidates)
        withheld |= left_with(withheld, [file.plan for file in files])
    return Largest(files, withheld, evidence)


def _left_to_try(files: Sequence[PlannedFile], withheld: Collection[str]) -> list[PlannedFile]:
    return [file for file in files if file.plan.changed and file.source.name not in withheld]


def _say_what_is_tried(candidates: Sequence[PlannedFile], config: Config, options: argparse.Namespace) -> None:
    lines = " and ".join(in_words(one.command) for one in commands(config, options))
    count = _count(candidates)
    sites = f"{plural(count, 'site')} in " if count else ""
    note(f"verifying {sites}{plural(len(candidates), 'file')} with: {lines}")


_FAILED = "was not rewritten, because the verification failed"
_SUSPECT = "agrees when rewritten alone, but not together with other sites, so it was not rewritten"


def _planned_anew(
    planned: Sequence[PlannedFile], replan: Replan, keep: Held, aside: Mapping[str, PlannedFile]
) -> list[PlannedFile]:
    """The files in their order, as they are planned if some sites and files stay."""
    fresh = {**{file.source.name: file for file in replan(keep, aside)}, **aside}
    return [fresh[file.source.name] for file in planned if file.source.name in fresh]


def _count(files: Sequence[PlannedFile]) -> int:
    return sum(site.status == "rewritten" for file in files for site in file.sites)


def _to_leave(evidence: Evidence, candidates: Sequence[PlannedFile]) -> dict[str, str]:
    """The sites that the runs speak against, by id, with the reason: what was not reached, and what failed first."""
    own = {site.id for file in candidates for site in file.sites if site.status == "rewritten"}
    own |= {site.site.id for site in evidence.sites if site.site.reference}
    failed = [site for site in evidence.sites if not site.verdict.ok and not site.follows and site.site.id in own]
    wrong = [site for site in failed if site.verdict is not Verdict.NOT_EXERCISED]
    crashed = any(not run.ok and not run.nudged for run in evidence.runs)
    if crashed and wrong:
        # A program that crashed did not come to what it did not reach.
        failed = wrong[:1]
    return {site.site.id: f"was not rewritten, because its verification failed: {_told(site)}" for site in failed}


def _unseen(evidence: Evidence, candidates: Sequence[PlannedFile]) -> list[PlannedFile]:
    """The files of whose sites not one was reached; notebooks are one module, and stay with their sites."""
    reached = {site.site.path for site in evidence.sites if site.verdict is not Verdict.NOT_EXERCISED}
    unreached = {site.site.path for site in evidence.sites if site.verdict is Verdict.NOT_EXERCISED}
    found = unreached - reached
    return [file for file in candidates if file.source.name in found and file.source.notebook is None]


_UNREACHED = "was not replaced, because COMMAND calls no site of its file; verify with one that does"


def _as_it_was(file: PlannedFile, why: Mapping[str, str]) -> PlannedFile:
    """The file without any change, and its sites left."""
    sites = tuple(
        replace(site, status="left", code=WITHHELD, reason=why[site.id], arguments=(), outputs=())
        if site.id in why
        else site
        for site in file.sites
    )
    plan = file.plan
    names = tuple(
        replace(name, status="left", code=WITHHELD, reason=_UNREACHED) if name.status == "replaced" else name
        for name in plan.names
    )
    same = replace(plan, after=plan.before, marked_after=plan.marked_before, sites=sites, names=names)
    return PlannedFile(file.source, replace(same, together=frozenset()))


def _parts(candidates: Sequence[PlannedFile]) -> list[list[SitePlan]]:
    """What may be to blame where no site is: either half of the sites, else all of them where files have none.

    Files that share arrays stay together, if there are others.
    """
    groups: dict[frozenset[str], list[SitePlan]] = {}
    for file in candidates:
        group = file.plan.together or frozenset({file.source.name})
        groups.setdefault(group, []).extend(site for site in file.sites if site.status == "rewritten")
    found = [sites for sites in groups.values() if sites]
    if len(found) == 1:
        found = [[site] for site in found[0]]
    every = [site for group in found for site in group]
    others = any(
        not file.plan.new and not any(site.status == "rewritten" for site in file.sites) for file in candidates
    )
    return [*_halves(found), *([every] if every and others else [])]


def _halves_of(sites: Sequence[SitePlan]) -> list[list[SitePlan]]:
    """The halves of the sites that were left in a rewrite that verified: maybe one of them is enough."""
    return _halves([[site] for site in sites])


def _halves(groups: Sequence[Sequence[SitePlan]]) -> list[list[SitePlan]]:
    middle = len(groups) // 2
    halves = (groups[middle:], groups[:middle])
    return [[site for group in half for site in group] for half in halves] if len(groups) > 1 else []


def _places(more: Mapping[str, str], files: Sequence[PlannedFile], evidence: Evidence) -> dict[tuple[Path, Place], str]:
    """Where the sites stand, for the planner; those of notebooks are left with their file.

    Of a site that goes by another name of a map, that is where the map stands: all goes with it that goes by the name.
    """
    found = {
        (place(file.source), (site.line, site.column)): more[site.id]
        for file in files
        for site in file.sites
        if site.id in more and not site.cell and file.source.notebook is None
    }
    sources = {file.source.name: file.source for file in files if file.source.notebook is None}
    for site in (one.site for one in evidence.sites if one.site.reference and one.site.id in more):
        name, line, column = site.reference.rsplit(":", 2)
        if name in sources:
            found[place(sources[name]), (int(line), int(column))] = more[site.id]
    return found


def _by_file(more: Mapping[str, str], candidates: Sequence[PlannedFile], added: Held) -> dict[str, Withheld]:
    """The files of sites that cannot be left one by one."""
    found = {}
    for file in candidates:
        own = {site.id: more[site.id] for site in file.sites if site.id in more}
        if own and not any((place(file.source), (site.line, site.column)) in added for site in file.sites):
            first = next(site for site in file.sites if site.id in own)
            found[file.source.name] = Withheld(
                f"was not rewritten, because the verification of {first.place}, in the same file, failed", own
            )
    return found


def _say_what_is_left(more: Mapping[str, str], evidence: Evidence, candidates: Sequence[PlannedFile]) -> None:
    if not candidates:
        return
    names = {site.site.id: str(site.site) for site in evidence.sites}
    told = [names.get(id_, id_) for id_ in more]
    others = f" and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
    note(f"{evidence.verdict.value}: {evidence.message}")
    note(f"trying again with {', '.join(told[:_NAMED])}{others} as in the original")


def _refused(evidence: Evidence, candidates: Sequence[PlannedFile]) -> dict[str, Withheld]:
    """The files that must not be written, with the reason, where no part of them was found that verifies."""
    names = [file.source.name for file in candidates]
    if evidence.original_failed:
        return dict.fromkeys(names, Withheld("was not rewritten, because the original program does not run", {}))
    failed = [site for site in evidence.sites if not site.verdict.ok]
    own = {site.site.id: f"{_FAILED}: {_told(site)}" for site in failed}
    if failed:
        cause = min(failed, key=lambda site: bool(site.follows))
        return dict.fromkeys(
            names, Withheld(f"was not rewritten, because the verification of {cause.site} failed", own)
        )
    return dict.fromkeys(names, Withheld(f"{_FAILED}: {evidence.message}", own))


def _told(site: SiteEvidence) -> str:
    return f"{site.verdict.value}: {site.message}" if site.message else site.verdict.value
