"""The state of a project's migration as plain data: what is done, what stays and why, what is next."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jaxmigrate.config import Config
from jaxmigrate.flow.layout.causes import NOT_FULL
from jaxmigrate.flow.layout.reasons import MEANT
from jaxmigrate.migrate.plan import ArrayLayout, NamePlan, SitePlan
from jaxmigrate.program.kept import KEPT
from jaxmigrate.reports.fix_result import FixResult
from jaxmigrate.reports.site_layouts import is_global
from jaxmigrate.terminal import plural

STATES = {
    "global": "global arrays only",
    "mixed": "global arrays, some stacked",
    "stacked": "all arrays stacked",
    "left": "not rewritten",
    "kept": "kept by a comment",
}
HELD = ("stacked", "unknown")
_PLACE = re.compile(r"\s*\((?:cell \d+, )?(?:line \d+|[^()\s]*:\d+)\)")


@dataclass(frozen=True)
class Cause:
    """Why arrays stay stacked, or maps stay: the sites that it holds, and those that it alone holds.

    `code` is what `jaxmigrate rule` explains: a cause for stacked arrays, or a rule.
    """

    reason: str
    sites: int
    frees: int
    arrays: int
    example: str
    code: str = ""

    @property
    def told(self) -> str:
        """The reason, and whether it is as it should be."""
        return f"{self.reason}, as it should" if self.code == "random-key" else self.reason


@dataclass(frozen=True)
class Names:
    """An old name of JAX: its uses, and how many of them `fix` cannot replace."""

    name: str
    replacement: str
    uses: int
    left: int
    code: str


@dataclass(frozen=True)
class Status:
    """One page of a project.

    Attributes:
        files: How many files were read, and `with_maps` in how many there is something to migrate.
        done: Maps that are `shard_map` already.
        states: How many maps come out of `fix` in each state.
        forms: How many maps there are of each form.
        by_file: The maps of each file that has any.
        stays: Why arrays stay stacked; the causes that free most sites come first.
        left: Why maps are left, by rule.
        names: Old names, the most frequent first.
        next: What to do, in order: pairs of a command, or nothing, and what it is for.
        errors: What could not be read.
    """

    paths: tuple[str, ...]
    files: int
    with_maps: int
    done: int
    states: dict[str, int]
    forms: dict[str, int]
    by_file: dict[str, int]
    stays: tuple[Cause, ...]
    left: tuple[Cause, ...]
    names: tuple[Names, ...]
    next: tuple[tuple[str, str], ...]
    errors: tuple[str, ...]

    @property
    def maps(self) -> int:
        """The maps that are still `pmap`."""
        return sum(self.states.values())

    @property
    def remaining(self) -> bool:
        """Whether there is anything left to do, but for what comments keep."""
        return self.maps > self.states["kept"] or bool(self.names)

    @property
    def headline(self) -> str:
        """One line, such as `23 maps to migrate in 14 of 60 files; 31 use shard_map already`."""
        work = [plural(self.maps, "map")] if self.maps else []
        if self.names:
            work.append(plural(sum(one.uses for one in self.names), "old name"))
        where = f" in {self.with_maps} of {plural(self.files, 'file')}" if self.with_maps else ""
        done = f"; {self.done} {'uses' if self.done == 1 else 'use'} shard_map already" if self.done else ""
        return f"{', '.join(work) or 'nothing'} to migrate{where}{done}"

    def to_json(self) -> dict[str, Any]:
        """All of it as JSON types."""
        plain = asdict(self)
        plain["next"] = [{"command": command, "what": what} for command, what in self.next]
        return {"version": 1, "headline": self.headline, "maps": self.maps, **plain}


def status_of(
    result: FixResult, paths: Sequence[str], files: int, done: int, config: Config, pins: Sequence[str] = ()
) -> Status:
    """The status that a plan for a project shows; `done` maps of its `files` are migrated.

    `pins` are requirements that rewritten code does not meet, in words.
    """
    states = Counter(_state(site) for site in result.sites)
    stays = tuple(_causes(result.sites))
    left = tuple(_left(result.sites))
    names = tuple(_names(result.names))
    with_work = {one.path for one in (*result.sites, *result.names)}
    return Status(
        paths=tuple(paths),
        files=files,
        with_maps=len(with_work),
        done=done,
        states={state: states[state] for state in STATES},
        forms=dict(Counter(site.form for site in result.sites).most_common()),
        by_file=dict(Counter(site.path for site in result.sites).most_common()),
        stays=stays,
        left=left,
        names=names,
        next=(*_next(states, stays, left, names, paths, config), *(("", pin) for pin in pins)),
        errors=tuple(str(error) for error in result.errors),
    )


def _state(site: SitePlan) -> str:
    if site.status == "left":
        return "kept" if site.code == KEPT else "left"
    if not is_global(site):
        return "stacked"
    return "mixed" if any(array.layout in HELD for array in _arrays(site)) else "global"


def _arrays(site: SitePlan) -> tuple[ArrayLayout, ...]:
    return (*site.arguments, *site.outputs)


def _causes(sites: Iterable[SitePlan]) -> Iterator[Cause]:
    """Why arrays of rewritten sites stay stacked."""
    arrays: Counter[str] = Counter()
    held: defaultdict[str, list[SitePlan]] = defaultdict(list)
    alone: defaultdict[str, list[SitePlan]] = defaultdict(list)
    anchors: dict[str, str] = {}
    for site in sites:
        if site.status == "left":
            continue
        own = [array for array in _arrays(site) if array.reason]
        own = [one for one in own if not _follows(one)] or own
        anchors |= {one.topic: one.cause for one in own}
        reasons = [one.topic for one in own]
        arrays.update(reasons)
        for reason in dict.fromkeys(reasons):
            held[reason].append(site)
        if len(set(reasons)) == 1:
            alone[reasons[0]].append(site)
    for reason in sorted(held, key=lambda one: (-len(alone[one]), -len(held[one]), one)):
        example = (alone[reason] or held[reason])[0].place
        yield Cause(reason, len(held[reason]), len(alone[reason]), arrays[reason], example, anchors[reason])


def _follows(array: ArrayLayout) -> bool:
    """Whether a result only stays stacked because of the arguments, which say why."""
    return array.cause == NOT_FULL.cause and array.topic == NOT_FULL.topic


def _left(sites: Iterable[SitePlan]) -> Iterator[Cause]:
    """Why maps are left, those that comments keep included."""
    held: defaultdict[tuple[str, str], list[SitePlan]] = defaultdict(list)
    for site in sites:
        if site.status == "left":
            reason = "is kept, as a comment asks" if site.code == KEPT else _PLACE.sub("", site.reason)
            held[site.code, reason].append(site)
    for (code, reason), found in sorted(held.items(), key=lambda item: (-len(item[1]), item[0])):
        yield Cause(reason, len(found), len(found), 0, found[0].place, code)


def _names(names: Iterable[NamePlan]) -> Iterator[Names]:
    found: defaultdict[str, list[NamePlan]] = defaultdict(list)
    for use in names:
        found[use.name].append(use)
    for name, uses in sorted(found.items(), key=lambda item: (-len(item[1]), item[0])):
        left = sum(use.status == "left" for use in uses)
        yield Names(name, uses[0].replacement, len(uses), left, uses[0].code)


def _next(
    states: Counter[str],
    stays: Sequence[Cause],
    left: Sequence[Cause],
    names: Sequence[Names],
    paths: Sequence[str],
    config: Config,
) -> Iterator[tuple[str, str]]:
    where = " ".join(paths)
    migrated = sum(states[state] for state in ("global", "mixed", "stacked"))
    replaced = sum(one.uses - one.left for one in names)
    if migrated or replaced:
        what = " and ".join(
            part
            for part in (
                f"rewrites {plural(migrated, 'map')}" if migrated else "",
                f"replaces {plural(replaced, 'old name')}" if replaced else "",
            )
            if part
        )
        yield f"jaxmigrate fix {where} --diff", f"shows what fix does: it {what}"
    if migrated:
        yield f"jaxmigrate fix {where} --verify -- COMMAND", estimate(config)
    if solvable := [one for one in stays if one.code not in MEANT]:
        most = max(solvable, key=lambda one: one.sites)
        yield (
            f"jaxmigrate fix {where} --observe -- COMMAND",
            "also makes arrays global that a run shows to be the same on all devices, or split",
        )
        yield (
            f"jaxmigrate fix {where} --explain {most.example}",
            "says why its arrays stay stacked, and what to declare",
        )
    for cause in [one for one in solvable if one.frees][:3]:
        more = f" and {plural(cause.frees - 1, 'more map')}" if cause.frees > 1 else ""
        alone = f"the only reason why {cause.example}{more} {'have' if more else 'has'} stacked arrays"
        yield (
            f"jaxmigrate rule {cause.code}" if cause.code else "",
            f"says what to do about `{cause.reason}`, {alone}",
        )
    for cause in left:
        if cause.code != KEPT:
            yield (
                f"jaxmigrate rule {cause.code}",
                f"says what to do about {plural(cause.sites, 'pmap')} that fix does not rewrite",
            )
    for name in names:
        if name.left:
            yield (
                f"jaxmigrate rule {name.code}",
                f"says what to do about {plural(name.left, 'use')} of {name.name} that fix does not replace",
            )


def estimate(config: Config) -> str:
    """What a verification costs: it runs programs, whose time only their user knows."""
    commands = config.verify.commands
    count = len(commands) or 1
    runs = f"2 runs of {'COMMAND' if not commands else plural(count, 'command')} on simulated devices"
    limits = [one.timeout or 600.0 for one in commands] or [config.verify.timeout or 600.0]
    most = sum(limits) * 2 / 60
    return f"takes {runs}, at most {most:.0f} min in all; more where something differs"
