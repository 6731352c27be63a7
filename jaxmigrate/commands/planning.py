"""From decoded files to a plan for all of them, with what does not parse set apart."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from jaxmigrate.commands.cells import in_cells
from jaxmigrate.commands.inputs import unparsable
from jaxmigrate.flow.layout.causes import FAILED
from jaxmigrate.lint.linting import place, with_rare_collections
from jaxmigrate.migrate import FilePlan, SitePlan, plan_sources
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.unhandled import Planned, Source, blamed, plan_what_can_be
from jaxmigrate.reports.diff import diff_of
from jaxmigrate.reports.fix_result import FixedFile, Outcome
from jaxmigrate.sources import SourceError, SourceFile


@dataclass(frozen=True)
class PlannedFile:
    """A file with what will become of it."""

    source: SourceFile
    plan: FilePlan

    @property
    def after(self) -> bytes:
        """The bytes that the file will have."""
        return self.source.encode(self.plan.after)

    @property
    def sites(self) -> tuple[SitePlan, ...]:
        """Its mapped sites."""
        return self.plan.sites


def plan_files(
    sources: Sequence[SourceFile], options: PlanOptions, beside: Mapping[Path, str] | None = None
) -> tuple[list[PlannedFile], list[SourceError]]:
    """Plans the migration of the files of one project; `beside` are the texts of its other files, which stay.

    Returns:
        The files that parse, in their order, and the errors of those that do not or that could not be written back.
    """
    by_name = {source.name: source for source in sources}
    named = [(source.name, place(source), source.text) for source in sources]

    def plan_them(given: Sequence[Source], others: Mapping[Path, str], layout: str) -> Planned:
        found = plan_sources(given, replace(options, layout=layout), beside=others)
        for file in found[0].files:
            if file.new:
                continue
            with blamed(place(by_name[file.path])):
                by_name[file.path].encode(file.after)
        return found

    with with_rare_collections():
        plan, broken, unhandled = plan_what_can_be(named, beside or {}, options.layout, plan_them)
    errors = [unparsable(by_name[name], error) for name, error in broken.items()]
    errors += [
        one.error if isinstance(one.error, SourceError) else SourceError(one.name, one.reason) for one in unhandled
    ]
    errors += _not_followed(plan.files)
    folders = {Path(source.name).parent: place(source).parent for source in sources}
    sources_of = ((by_name.get(file.path) or _new_source(file, folders), file) for file in plan.files)
    return [PlannedFile(source, in_cells(file, source.notebook)) for source, file in sources_of], errors


def _not_followed(files: Sequence[FilePlan]) -> list[SourceError]:
    """The faults of ours for which arrays stay stacked, each with the first site that has some."""
    found: dict[str, SourceError] = {}
    for site in (site for file in files for site in file.sites if site.status == "rewritten"):
        for array in (*site.arguments, *site.outputs):
            if array.reason.startswith(FAILED):
                found.setdefault(array.reason, SourceError(site.path, array.reason, site.line, site.column))
    return [*found.values()]


def _new_source(file: FilePlan, folders: Mapping[Path, Path]) -> SourceFile:
    """A file that the rewrite adds, as it is before that: nothing."""
    name = Path(file.path)
    folder = folders.get(name.parent, name.parent)
    return SourceFile(file.path, folder / name.name, b"", "", "utf-8", bom=False)


def with_diff(file: PlannedFile, outcome: Outcome, sites: tuple[SitePlan, ...]) -> FixedFile:
    """What became of a planned file, with its diff, for reports."""
    diff = diff_of(file.source, file.plan.after)
    if file.plan.new:
        diff = b"--- /dev/null\n" + diff.partition(b"\n")[2]
    callers = tuple(os.path.relpath(path) for path in file.plan.callers)
    return FixedFile(file.source.name, outcome, sites, diff, file.source.encoding, file.plan.names, callers)
