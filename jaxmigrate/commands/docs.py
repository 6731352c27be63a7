"""`--docs`: the Python in documentation, one namespace of each file after the other.

The code blocks of a file belong together, and so do its doctests; the examples of a docstring run by themselves. Each
such group is a module of its own, which is fixed or linted as any other.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from jaxmigrate.commands.inputs import Located
from jaxmigrate.commands.planning import plan_files
from jaxmigrate.config import Version
from jaxmigrate.findings.fixes import NO_FIX
from jaxmigrate.lint.cache import Examined
from jaxmigrate.lint.examine import examine_text
from jaxmigrate.migrate import SitePlan
from jaxmigrate.migrate.api_updates.plans import LinesBefore
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.plan import NamePlan
from jaxmigrate.program.old_names import Era
from jaxmigrate.records import replace as with_changes
from jaxmigrate.reports.diff import unified_diff
from jaxmigrate.reports.fix_result import FixedFile, FixResult, Outcome
from jaxmigrate.sources import Location, SourceError, replace_bytes
from jaxmigrate.sources.decoding import os_reason
from jaxmigrate.sources.documentation import groups_of, read_documentation

# A block that is no Python is passed over, unless it says this
SAID = ("pmap",)


@dataclass(frozen=True)
class Wanted:
    """What `fix` is asked for: how arrays are held, for which JAX, from which one, and whether to write."""

    layout: str
    target: Version | None
    era: Era
    writes: bool


@dataclass
class _Rewrite:
    """A file in the making."""

    raw: bytes
    sites: list[SitePlan] = field(default_factory=list)
    names: list[NamePlan] = field(default_factory=list)
    errors: list[SourceError] = field(default_factory=list)


def fix_docs(group: Located, wanted: Wanted) -> FixResult:
    """Rewrites the code in the documentation of one project, or plans to."""
    files: list[FixedFile] = []
    errors = list(group.errors)
    for file in group.files:
        try:
            raw = _read(file)
            made = _rewritten(file, raw, wanted)
            errors += made.errors
            files.append(_written(file, raw, made, wanted))
        except SourceError as error:
            errors.append(error)
    return FixResult(files, errors)


def lint_docs(file: Location, target: Version | None) -> Examined:
    """What the rules find in the code of one file of documentation."""
    found = Examined((), (), {})
    try:
        raw = _read(file)
        for number in groups_of(raw, file.name, file.path):
            source, broken = read_documentation(raw, file.name, file.path, number, SAID)
            one = examine_text(source, target)
            findings = tuple(with_changes(finding, fix=NO_FIX) for finding in one.findings)
            marks = (*found.marks.get(file.name, ()), *one.marks.get(file.name, ()))
            found = Examined((*found.findings, *findings), (*found.errors, *broken, *one.errors), {file.name: marks})
    except SourceError as error:
        return found._replace(errors=(*found.errors, error))
    return found


def _read(file: Location) -> bytes:
    try:
        return file.path.read_bytes()
    except OSError as error:
        raise SourceError(file.name, os_reason(error)) from error


def _rewritten(file: Location, raw: bytes, wanted: Wanted) -> _Rewrite:
    """The file with one group after the other rewritten, the last first: what stands above it does not move."""
    made = _Rewrite(raw)
    for number in reversed(groups_of(raw, file.name, file.path)):
        source, broken = read_documentation(made.raw, file.name, file.path, number, SAID)
        made.errors += broken
        planned, errors = plan_files([source], PlanOptions(wanted.layout, wanted.target, wanted.era))
        made.errors += errors
        for one in planned:
            moved = LinesBefore(raw.decode("latin-1"), made.raw.decode("latin-1"))
            made.sites += [replace(site, line=moved.of(site.line)) for site in one.plan.sites]
            made.names += [replace(name, line=moved.of(name.line)) for name in one.plan.names]
            made.raw = one.after
    made.sites.sort(key=lambda site: (site.line, site.column))
    made.names.sort(key=lambda name: (name.line, name.column))
    return made


def _written(file: Location, raw: bytes, made: _Rewrite, wanted: Wanted) -> FixedFile:
    outcome: Outcome = "unchanged"
    if made.raw != raw:
        outcome = "written" if wanted.writes else "shown"
        if wanted.writes:
            replace_bytes(file.path, made.raw, expected=raw, name=file.name)
    diff = unified_diff(file.name, raw, made.raw)
    return FixedFile(file.name, outcome, tuple(made.sites), diff, names=tuple(made.names))
