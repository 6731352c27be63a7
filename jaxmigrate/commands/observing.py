"""`fix --observe`: runs the original to see what proof does not find, and verifies what follows from it, bit for bit.

What was seen to hold at every call of one run need not hold at the next. So it is tried as a whole first, and where
the rewrite computes something else, the groups of arrays that are to blame are left as proof has them.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from jaxmigrate.commands import Failure
from jaxmigrate.commands.largest import verify_before_writing
from jaxmigrate.commands.notebooks import in_words
from jaxmigrate.commands.planning import PlannedFile
from jaxmigrate.commands.verification import commands, verify_planned, watch_planned
from jaxmigrate.commands.withheld import Largest, Replan
from jaxmigrate.config import Config
from jaxmigrate.lint.linting import place
from jaxmigrate.migrate import SitePlan
from jaxmigrate.migrate.plan import ArrayLayout
from jaxmigrate.migrate.witnesses import BETWEEN, GIVEN, NO_CALL
from jaxmigrate.program.observed import FIRST_ARGUMENT, RECEIVER, Fact, Making, Observed, Site, Spot, Way
from jaxmigrate.terminal import note, plural
from jaxmigrate.verify.model import Evidence, SiteEvidence, Verdict
from jaxmigrate.verify.observing import Seen, Slices, steps_of
from jaxmigrate.verify.recording import MAPPED, Given
from jaxmigrate.verify.session import Originals

MOST_RUNS = 5
_NAMED = 3
Group = frozenset[Fact]


class Planner(NamedTuple):
    """The files as they are planned by proof, with how to plan them anew; `observing` plans with what was seen."""

    files: Sequence[PlannedFile]
    again: Replan
    observing: Callable[[Observed], tuple[list[PlannedFile], Replan]]


def observe_before_writing(planner: Planner, config: Config, options: argparse.Namespace) -> Largest:
    """Finds the largest rewrite that rests on what a run shows, and that verifies bitwise on the same command.

    Raises:
        Failure: There is no command, it has one device, or a run could not be carried out.
    """
    lines = " and ".join(in_words(one.command) for one in commands(config, options))
    note(f"observing the original with: {lines}")
    with Originals() as originals:
        seen, watched = watch_planned(planner.files, config, options, originals)
        if watched.original_failed:
            return verify_before_writing(planner.files, config, options, planner.again, originals)
        if seen.devices < 2:
            raise Failure("--observe needs more than one device; leave --devices out, or give more")
        found, refuted = _search(planner, observations(seen, planner.files), config, options, originals, watched)
        if found is None:
            found = verify_before_writing(planner.files, config, options, planner.again, originals)
    if found.evidence is None or not refuted:
        return found
    return found._replace(evidence=replace(found.evidence, notes=(*found.evidence.notes, *refuted)))


def _search(
    planner: Planner,
    observed: Observed,
    config: Config,
    options: argparse.Namespace,
    originals: Originals,
    watched: Evidence,
) -> tuple[Largest | None, list[str]]:
    """The largest rewrite with something observed that verifies, None where there is none; and what was refuted."""
    refuted: list[str] = []
    for run in range(1, MOST_RUNS + 1):
        files, again = planner.observing(observed)
        groups = groups_of(files)
        if not groups:
            if run == 1:
                for line in _nothing_used(observed, planner.files):
                    note(line)
            return None, refuted
        were = f"{plural(len(groups), 'group')} of arrays {'was' if len(groups) == 1 else 'were'} replicated or split"
        note(f"{were} in that run, which fix cannot prove; verifying them as global arrays, try {run} of {MOST_RUNS}")
        names = {file.source.name for file in files if file.plan.changed}
        evidence = verify_planned(files, names, config, options, renewed=watched.renewed, originals=originals)
        blamed, why = _blamed(evidence, files, groups)
        if not blamed:
            largest = verify_before_writing(files, config, options, again, originals, evidence)
            return (largest if _holds(largest) else None), refuted
        told = _told(blamed, files)
        note(f"{why}; trying again without what the run showed of {told}")
        refuted.append(f"kept stacked in spite of what the run showed: {told}: {why}")
        observed = observed.without(frozenset().union(*blamed))
    return None, refuted


def _nothing_used(observed: Observed, files: Sequence[PlannedFile]) -> Iterator[str]:
    """What to tell of a run that shows nothing, or nothing that a rewrite can use."""
    seen = [
        f"{file.source.name}:{site.line}: {array.name} was {way}, and stays stacked: {array.reason}"
        for file in files
        for site in file.sites
        for way, array in _stacked_but_seen(site, (place(file.source), site.line, site.column), observed)
    ]
    if not seen:
        yield "the run shows no replicated or split arrays other than those that are proven"
        return
    yield "no array that the run shows replicated or split can become global"
    yield from (f"  {one}" for one in seen[:_NAMED])
    if len(seen) > _NAMED:
        yield f"  and {len(seen) - _NAMED} more"


def _stacked_but_seen(site: SitePlan, key: Site, observed: Observed) -> Iterator[tuple[str, ArrayLayout]]:
    if site.status != "rewritten":
        return
    for i, array in enumerate(site.arguments):
        making = observed.given.get((key, i))
        if making is not None and array.layout == "stacked":
            yield ("replicated" if making.way == "replicate" else "split"), array


def _holds(largest: Largest) -> bool:
    """Whether what is to be written verified, and bit for bit where it rests on observation."""
    evidence = largest.evidence
    if evidence is None or not evidence.ok:
        return False
    leaning = _leaning(largest.planned)
    return all(site.verdict is Verdict.EQUAL for site in evidence.sites if site.site.id in leaning)


# What a run shows


def observations(seen: Seen, files: Sequence[PlannedFile]) -> Observed:
    """What held at every call of a run, by where it stands in the files; notebooks are left out."""
    sites: dict[str, Site] = {
        site.id: (place(file.source), site.line, site.column)
        for file in files
        if file.source.notebook is None
        for site in file.sites
    }
    paths = {file.source.name: place(file.source) for file in files if file.source.notebook is None}
    known = {key: slices for key, slices in seen.arguments.items() if key[0] in sites and key[0] not in seen.odd}
    return Observed(
        made=dict(_made(seen, known, paths)),
        given={(sites[site], i): making for (site, i), making in _given(seen, known).items()},
        outputs={(sites[s], p): one.calls for (s, p), one in seen.outputs.items() if s in sites and one.equal},
        devices=seen.devices,
    )


Arguments = Mapping[tuple[str, int], Slices]


def _given(seen: Seen, known: Arguments) -> dict[tuple[str, int], Making]:
    """The arguments that come from no mapped function."""
    found = {}
    for key, slices in known.items():
        origins = seen.given.get(key, frozenset())
        way = _way(slices, origins) or ("split" if slices.rows and _is_split(seen, origins) else None)
        if way is not None and origins and not any(one.is_result for one in origins):
            found[key] = Making(way, slices.calls)
    return found


def _way(slices: Slices, origins: Collection[Given]) -> Way | None:
    """How arrays lie over the devices at all calls: as copies, or as parts of a batch that the host cut up."""
    if slices.equal:
        return "replicate"
    return "split" if slices.rows and origins and all(one.cut for one in origins) else None


def _is_split(seen: Seen, origins: Collection[Given]) -> bool:
    """Whether all of some arrays came through calls that split batches."""
    return bool(origins) and all(one.cut or all(_splits(seen, way) for way in one.ways) for one in origins)


def _splits(seen: Seen, way: Collection[str]) -> bool:
    return any(seen.does.get(one, "").startswith("splits") for one in way)


def _made(seen: Seen, known: Arguments, paths: Mapping[str, object]) -> list[tuple[Spot, Making]]:
    """The marked calls whose arrays went into mapped functions, in one way only."""
    found = []
    for mark, does in seen.does.items():
        if not does or (BETWEEN not in does and _is_told_better(mark, seen)):
            continue
        spot = _spot(mark, paths)
        keys = [key for key in known if any(one.is_through(mark) for one in seen.given.get(key, ()))]
        making = _making(does, mark, [(known[key], seen.given[key]) for key in keys]) if keys else None
        if making is not None and making.of and _maps(mark, seen):
            making = Making(making.way, making.calls)  # without the call, the program would map less often
        if spot is not None and making is not None:
            found.append((spot, making))
    return found


def _is_told_better(mark: str, seen: Seen) -> bool:
    """Whether other calls that the same arrays came through show what they are made of."""
    ways = [way for origins in seen.given.values() for one in origins for way in one.ways if mark in way]
    return all(any(BETWEEN in seen.does.get(one, "") for one in way) for way in ways)


def _maps(mark: str, seen: Seen) -> bool:
    """Whether what a call gives comes through a mapped function that it calls."""
    ways = [way for origins in seen.given.values() for one in origins for way in one.ways if mark in way]
    return any(one.startswith(MAPPED) for way in ways for one in way[: way.index(mark)])


def _making(does: str, mark: str, uses: Sequence[tuple[Slices, Collection[Given]]]) -> Making | None:
    what, _, operand = does.partition(BETWEEN)
    calls = sum(slices.calls for slices, _ in uses)
    if what in ("replicates", "equal") and all(slices.equal for slices, _ in uses):
        return Making("replicate", calls, _operand(operand, mark))
    if what == "splits" and all(slices.rows for slices, _ in uses):
        return Making("split", calls, _operand(operand, mark))
    own = [(slices, [one for one in origins if one.is_through(mark)]) for slices, origins in uses]
    if what == "rows" and all(_way(slices, origins) == "split" for slices, origins in own):
        return Making("split", calls)
    return None


def _operand(operand: str, mark: str) -> str:
    """Which of a call's operands a mark stands for: the object whose method it is begins where the call does."""
    if not operand:
        return ""
    return RECEIVER if operand.lstrip(NO_CALL + GIVEN).rpartition("-")[0] == mark.rpartition("-")[0] else FIRST_ARGUMENT


def _spot(mark: str, paths: Mapping[str, object]) -> Spot | None:
    """Where a mark stands: `name:line:column-line:column`."""
    first, _, last = mark.rpartition("-")
    name, line, column = first.rsplit(":", 2)
    end_line, end = last.split(":")
    path = paths.get(name)
    return (path, int(line), int(column), int(end_line), int(end)) if path is not None else None  # type: ignore[return-value]


# What a rewrite rests on, and what a verification says against it


def groups_of(files: Sequence[PlannedFile]) -> list[Group]:
    """What was observed of arrays that flow into one another stands or falls together."""
    groups: list[Group] = []
    for facts in _each(files):
        joined = [group for group in groups if not group.isdisjoint(facts)]
        groups = [group for group in groups if group not in joined] + [frozenset(facts).union(*joined)]
    return groups


def _each(files: Sequence[PlannedFile]) -> list[frozenset[Fact]]:
    arrays = (array for file in files for site in file.sites for array in _arrays(site))
    return [array.facts for array in arrays if array.facts]


def _arrays(site: SitePlan) -> tuple[ArrayLayout, ...]:
    return (*site.arguments, *site.outputs) if site.status == "rewritten" else ()


def _leaning(files: Sequence[PlannedFile]) -> dict[str, SitePlan]:
    """The rewritten sites whose layouts rest on observation, by id."""
    every = (site for file in files for site in file.sites if site.status == "rewritten")
    return {site.id: site for site in every if any(one.grade == "observed" for one in site.assumed)}


def _blamed(evidence: Evidence, files: Sequence[PlannedFile], groups: list[Group]) -> tuple[list[Group], str]:
    """The groups that a verification speaks against, and what it says; none where it is about something else."""
    leaning = _leaning(files)
    wrong = [
        site
        for site in evidence.sites
        if site.site.id in leaning and site.verdict not in (Verdict.EQUAL, Verdict.NOT_EXERCISED) and not site.follows
    ]
    if any(not run.ok for run in evidence.runs):
        wrong = wrong[:1]  # a program that crashed did not come to the others
    for site in wrong:
        facts = _facts_of(site, leaning[site.site.id])
        if found := [group for group in groups if not group.isdisjoint(facts)]:
            return found, f"{site.site} is {site.verdict.value}: {site.message}"
    if evidence.ok or evidence.verdict is Verdict.NOT_EXERCISED:
        return [], ""
    return groups[len(groups) // 2 :], f"{evidence.verdict.value}: {evidence.message}"


def _facts_of(found: SiteEvidence, site: SitePlan) -> frozenset[Fact]:
    """What was observed of the array that differs first, or else of all that a site takes and gives."""
    arrays = [array for array in _arrays(site) if array.facts]
    first = found.first or found.worst
    own: list[ArrayLayout] = []
    if first is not None and first.where == "output":
        place = ".".join(map(str, steps_of(first.leaf)))
        own = [a for a in site.outputs if a.facts and (a.name == "*" or f"{place}.".startswith(f"{a.name}."))]
    elif first is not None and first.where == "input":
        name = re.match(r"\w+", first.leaf) or re.match(r"\[0\]\[(\d+)\]", first.leaf)
        own = [a for a in site.arguments if a.facts and name is not None and a.name == name[name.lastindex or 0]]
    arrays = own or arrays
    return frozenset().union(*(array.facts for array in arrays))


def _told(blamed: Sequence[Group], files: Sequence[PlannedFile]) -> str:
    """What was observed, in the words of a report, without how often."""
    facts = frozenset().union(*blamed)
    every = (one for file in files for site in file.sites for one in site.assumed)
    said = list(
        dict.fromkeys(
            f"{one.says.partition('`')[2].partition('`')[0] or 'a result'} ({one.place})"
            for one in every
            if one.fact in facts
        )
    )
    more = f" and {len(said) - _NAMED} more" if len(said) > _NAMED else ""
    return f"{', '.join(said[:_NAMED])}{more}"
