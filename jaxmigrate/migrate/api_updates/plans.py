"""Lays the replacement of old names over a plan for the maps, so that both are one rewrite and one report."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from jaxmigrate.flow.layout.reachable_modules import ReachableModules
from jaxmigrate.migrate.api_updates.project import NONE, renew
from jaxmigrate.migrate.api_updates.rewrite_context import Seen
from jaxmigrate.migrate.imports import imported_names
from jaxmigrate.migrate.plan import FilePlan, NamePlan, Plan
from jaxmigrate.migrate.read_texts import ReadTexts
from jaxmigrate.migrate.wanted import ALL, Wanted
from jaxmigrate.program.modules import Project, parse_module, read_utf8
from jaxmigrate.program.old_names import Era, Release
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.sources.line_diff import LONG, opcodes


def with_new_names(
    plan: Plan,
    paths: Mapping[str, Path],
    target: Release | None,
    era: Era = "",
    read: ReadTexts | None = None,
    leaned_on: Mapping[Path, frozenset[str]] = NONE,
    wanted: Wanted = ALL,
) -> Plan:
    """The plan with old names replaced in what each file becomes; `paths` are those of the files that parse.

    `leaned_on` are the names that others import, by file. Names that are not `wanted` stay.
    """
    read = ReadTexts() if read is None else read
    texts = {paths[file.path]: file.after for file in plan.files if file.path in paths}
    touched = {paths[file.path] for file in plan.files if file.changed}
    renewed = renew(texts, target, era, touched, read, leaned_on, wanted)
    if not renewed:
        return plan
    by_name = {name: path for name, path in paths.items() if path in renewed}
    marked = {by_name[f.path]: f.marked_after for f in plan.files if f.path in by_name and f.marked_after != f.after}
    marked_texts = texts | marked
    again = renew(marked_texts, target, era, touched, read, leaned_on, wanted) if marked else {}
    files = []
    for file in plan.files:
        path = by_name.get(file.path)
        if path is None:
            files.append(file)
            continue
        after = renewed[path].text
        marked_after = again[path].text if path in marked and path in again else after
        lines = LinesBefore(file.before, file.after)
        names = tuple(_name_plan(one, file.path, lines) for one in renewed[path].seen)
        files.append(replace(file, after=after, marked_after=marked_after, names=names))
    return Plan(tuple(files))


def with_renewed_originals(
    plan: Plan,
    paths: Mapping[str, Path],
    target: Release | None,
    era: Era = "",
    read: ReadTexts | None = None,
    leaned_on: Mapping[Path, frozenset[str]] = NONE,
) -> Plan:
    """The plan with the texts of an original that keeps its maps, and whose old names are replaced."""
    texts = {paths[file.path]: file.marked_before for file in plan.files if file.path in paths}
    new = renew(texts, target, era, read=read, leaned_on=leaned_on)
    renewed = {path: one.text for path, one in new.items() if one.text != texts[path]}
    return Plan(
        tuple(
            replace(file, marked_renewed=renewed[paths[file.path]]) if paths.get(file.path) in renewed else file
            for file in plan.files
        )
    )


def renamed(
    name: str, path: Path, text: str, beside: Mapping[Path, str], target: Release | None, era: Era = ""
) -> FilePlan:
    """The plan for one file of which only the old names are replaced; `beside` are the other files of its project."""
    known = {**beside, path: text}
    project = Project([parse_module(path, text)], lambda other: known.get(other) or read_utf8(other), known)
    leaning = imported_names(ReachableModules(project, known).importers([path]), Resolver(project))
    leaned_on = {module.path: names for module, names in leaning.items()}
    plan = Plan((FilePlan(name, text, text, text, text, ()),))
    return with_new_names(plan, {name: path}, target, era, leaned_on=leaned_on).files[0]


def _name_plan(seen: Seen, path: str, lines: LinesBefore) -> NamePlan:
    return NamePlan(
        path=path,
        line=lines.of(seen.line),
        column=seen.column,
        name=seen.name,
        replacement=seen.replacement,
        status="left" if seen.reason else "replaced",
        code=seen.code,
        reason=seen.reason,
    )


class LinesBefore:
    """Which line of a text became which line of another; the two are compared once, and only if it is asked."""

    def __init__(self, before: str, after: str) -> None:
        self._texts = before, after

    @cached_property
    def _changes(self) -> Sequence[tuple[str, int, int, int, int]]:
        before, after = (text.splitlines() for text in self._texts)
        if len(before) + len(after) >= LONG:
            return opcodes(before, after)
        return difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()

    def of(self, line: int) -> int:
        """The line before that became a line after; the nearest one above for a line that is new."""
        if self._texts[0] == self._texts[1]:
            return line
        for kind, start, end, new_start, new_end in self._changes:
            if new_start < line <= new_end:
                there = start + line - new_start
                return there if kind == "equal" else min(there, max(start + 1, end))
        return line
