"""Lays the replacement of old names over a plan for the maps, so that both are one rewrite and one report."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from jaxmigrate.migrate.neighbours.desk import Seen
from jaxmigrate.migrate.neighbours.era import Era
from jaxmigrate.migrate.neighbours.project import renew
from jaxmigrate.migrate.plan import FilePlan, NamePlan, Plan
from jaxmigrate.program.old_names import Release


def with_new_names(plan: Plan, paths: Mapping[str, Path], target: Release | None, era: Era = "") -> Plan:
    """The plan with old names replaced in what each file becomes; `paths` are those of the files that parse."""
    texts = {paths[file.path]: file.after for file in plan.files if file.path in paths}
    touched = {paths[file.path] for file in plan.files if file.changed}
    renewed = renew(texts, target, era, touched)
    if not renewed:
        return plan
    by_name = {name: path for name, path in paths.items() if path in renewed}
    marked = {by_name[f.path]: f.marked_after for f in plan.files if f.path in by_name and f.marked_after != f.after}
    marked_texts = texts | marked
    again = renew(marked_texts, target, era, touched) if marked else {}
    files = []
    for file in plan.files:
        path = by_name.get(file.path)
        if path is None:
            files.append(file)
            continue
        after = renewed[path].text
        marked_after = again[path].text if path in marked and path in again else after
        names = tuple(_name_plan(one, file) for one in renewed[path].seen)
        files.append(replace(file, after=after, marked_after=marked_after, names=names))
    return Plan(tuple(files))


def _name_plan(seen: Seen, file: FilePlan) -> NamePlan:
    return NamePlan(
        path=file.path,
        line=line_before(seen.line, file.before, file.after),
        column=seen.column,
        name=seen.name,
        replacement=seen.replacement,
        status="left" if seen.reason else "replaced",
        code=seen.code,
        reason=seen.reason,
    )


def line_before(line: int, before: str, after: str) -> int:
    """The line of `before` that became a line of `after`; the nearest one above for a line that is new."""
    if before == after:
        return line
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        if new_start < line <= new_end:
            return start + line - new_start if kind == "equal" else min(start + line - new_start, max(start + 1, end))
    return line
