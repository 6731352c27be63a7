"""Asks every rule about some files of a project."""

from __future__ import annotations

import gc
import importlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from jaxmigrate.config import Config, Version
from jaxmigrate.findings import Finding, Note
from jaxmigrate.findings.fixes import fix_in_cells
from jaxmigrate.flow.facts import Facts
from jaxmigrate.program.kept import asked_at, lines_of_site
from jaxmigrate.program.modules import Module, Project, parse_module, read_utf8
from jaxmigrate.program.newer import described
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import mapped_sites
from jaxmigrate.records import replace
from jaxmigrate.rules import checks, giving_way
from jaxmigrate.sources import SourceError, SourceFile, error_in
from jaxmigrate.sources.containers import Container, Located

BESIDE = 1  # lines, as a spec's name is often written above the map
HUNDRED = len("JM1")  # the part of a code that says what kind of mistake it is
BETWEEN_COLLECTIONS = 500_000  # new objects, some 100 MB of them


def lint(sources: Sequence[SourceFile], config: Config) -> list[Finding]:
    """What the rules find in the files of one project, in the order of files and lines.

    Files that do not parse are passed over, for whoever reads them to report.
    """
    texts = {place(source): source.text for source in sources}
    modules, _ = parsed(sources)
    project = Project(modules, lambda path: texts.get(path) or read_utf8(path), texts)
    project.reads_newer = True
    project.declared = config.declared
    names = {place(source): source.name for source in sources}
    return in_cells(ask(modules, project, names, config.target_jax), sources)


def parsed(sources: Iterable[SourceFile]) -> tuple[list[Module], list[SourceError]]:
    """The files as modules, and what is wrong with those that do not parse."""
    modules: list[Module] = []
    errors: list[SourceError] = []
    for source in sources:
        try:
            modules.append(parse_module(place(source), source.text, newer=True))
        except SyntaxError as error:
            errors.append(error_in(source, described(error, source.text), error.lineno or 0, error.offset or 0))
    return modules, errors


def ask(
    modules: Sequence[Module], project: Project, names: Mapping[Path, str], target: Version | None = None
) -> list[Finding]:
    """What the rules find in some modules of a project, and in what these lead to; `names` are the files to report."""
    with without_collector():
        facts = Facts(tuple(modules), Resolver(project, defaults_hold=True), names, target)
        return _once(sorted(finding for check in checks().values() for finding in check(facts)))


def _once(findings: list[Finding]) -> list[Finding]:
    """The findings without those that give way to what another rule of their kind says of the same lines."""
    last = giving_way()
    taken = {
        (one.path, line, one.code[:HUNDRED])
        for one in findings
        if one.code not in last
        for line in range(one.line - BESIDE, one.line + BESIDE + 1)
    }
    return [one for one in findings if one.code not in last or (one.path, one.line, one.code[:HUNDRED]) not in taken]


def maps_in(modules: Sequence[Module], project: Project) -> int:
    """How many sites of pmap some modules have that no comment keeps, as far as these say its name."""
    resolver = Resolver(project)
    named = [module for module in modules if "pmap" in module.text]
    return sum(
        not asked_at(module.text, lines_of_site(site)) for module in named for site in mapped_sites(module, resolver)
    )


def in_cells(findings: Iterable[Finding], sources: Iterable[SourceFile]) -> list[Finding]:
    """The findings with those in notebooks told by cell and line."""
    notebooks = {source.name: source.notebook for source in sources if source.notebook is not None}
    if not notebooks:
        return list(findings)
    return [_in_cell(finding, notebooks) for finding in findings]


def _in_cell(finding: Finding, notebooks: Mapping[str, Container]) -> Finding:
    notes = tuple(
        Note(n.path, at.line, at.column, n.message, at.cell, at.file_line)
        if (at := _at(n.path, n.line, n.column, notebooks)) is not None
        else n
        for n in finding.notes
    )
    fix = finding.fix if finding.fix.path not in notebooks else fix_in_cells(finding.fix, notebooks[finding.fix.path])
    at = _at(finding.path, finding.line, finding.column, notebooks)
    if at is None:
        return replace(finding, notes=notes, fix=fix)
    end = notebooks[finding.path].located(finding.end_line, finding.end_column)
    return replace(
        finding,
        line=at.line,
        column=at.column,
        end_line=end.line,
        end_column=end.column,
        notes=notes,
        cell=at.cell,
        file_line=at.file_line,
        fix=fix,
    )


def _at(path: str, line: int, column: int, notebooks: Mapping[str, Container]) -> Located | None:
    return notebooks[path].located(line, column) if path in notebooks else None


def prepare() -> None:
    """Imports rules and reads tables now, and not in each of the processes that are about to be forked."""
    from jaxmigrate.program.old_mentions import mentions

    checks()
    for name in ("pickle", "jaxmigrate.sources.notebooks"):
        importlib.import_module(name)
    mentions("import jax\njax.tree_map")


def place(source: SourceFile) -> Path:
    """Where a file's imports are looked for; standard input stands in the current folder."""
    if source.path is None:
        return Path.cwd() / "stdin.py"
    path = Path(os.path.abspath(source.path))  # the same whatever way it was named
    return path if source.notebook is None or source.notebook.has_cells else beside(path)


def beside(path: Path) -> Path:
    """Where the code in a file of documentation stands as a module: it is not what importing the file gives."""
    return path.absolute().with_name(f"{path.name}.docs")


@contextmanager
def without_collector() -> Iterator[None]:
    """Trees of syntax are all live while they are read, so that looking for garbage among them only costs time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def with_rare_collections() -> Iterator[None]:
    """The same where the work may leave garbage that would add up: it is looked for seldom."""
    before = gc.get_threshold()
    gc.set_threshold(BETWEEN_COLLECTIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
