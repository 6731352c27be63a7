"""Asks every rule about some files of a project."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from jaxmigrate.config import Config
from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.program.modules import Module, Project, parse_module, read_utf8
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.rules import checks
from jaxmigrate.sources import SourceError, SourceFile


def lint(sources: Sequence[SourceFile], config: Config) -> list[Finding]:  # noqa: ARG001 - rules have no options yet
    """What the rules find in the files of one project, in the order of files and lines.

    Files that do not parse are passed over, for whoever reads them to report.
    """
    texts = {place(source): source.text for source in sources}
    modules, _ = parsed(sources)
    project = Project(modules, lambda path: texts.get(path) or read_utf8(path), texts)
    return ask(modules, project, {place(source): source.name for source in sources})


def parsed(sources: Iterable[SourceFile]) -> tuple[list[Module], list[SourceError]]:
    """The files as modules, and what is wrong with those that do not parse."""
    modules: list[Module] = []
    errors: list[SourceError] = []
    for source in sources:
        try:
            modules.append(parse_module(place(source), source.text))
        except SyntaxError as error:
            message = f"cannot be parsed: {error.msg}"
            errors.append(SourceError(source.name, message, error.lineno or 0, error.offset or 0))
        except (ValueError, RecursionError, MemoryError) as error:
            errors.append(SourceError(source.name, f"cannot be parsed: {error}"))
    return modules, errors


def ask(modules: Sequence[Module], project: Project, names: Mapping[Path, str]) -> list[Finding]:
    """What the rules find in some modules of a project, and in what these lead to; `names` are the files to report."""
    with without_collector():
        facts = Facts(tuple(modules), Resolver(project), names)
        return sorted(finding for check in checks().values() for finding in check(facts))


def prepare() -> None:
    """Imports every rule now, and not in each of the processes that are about to be forked."""
    checks()


def place(source: SourceFile) -> Path:
    """Where a file's imports are looked for; standard input stands in the current folder."""
    return Path.cwd() / "stdin.py" if source.path is None else source.path.absolute()


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
