"""Asks every rule about a project's files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jaxmigrate.config import Config
from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.program.modules import Module, Project, parse_module, read_utf8
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.rules import checks
from jaxmigrate.sources import SourceFile

TELLING = ("pmap", "shard_map", "psum", "pmean", "all_gather", "axis_name", "process_index", "host_id")


def lint(sources: Sequence[SourceFile], config: Config) -> list[Finding]:  # noqa: ARG001 - rules have no options yet
    """What the rules find in the files of one project, in the order of files and lines.

    Files that mention nothing that a rule is about are not parsed, unless another one imports them; those that do not
    parse are passed over, for whoever reads them to report.
    """
    texts = {_place(source): source.text for source in sources}
    modules: dict[Module, str] = {}
    for source in sources:
        if any(word in source.text for word in TELLING):
            try:
                modules[parse_module(_place(source), source.text)] = source.name
            except (SyntaxError, ValueError, RecursionError):
                continue
    project = Project(modules, lambda path: texts.get(path) or read_utf8(path), texts)
    facts = Facts(tuple(modules), Resolver(project), modules)
    return sorted(finding for check in checks().values() for finding in check(facts))


def _place(source: SourceFile) -> Path:
    """Where a file's imports are looked for; standard input stands in the current folder."""
    return Path.cwd() / "stdin.py" if source.path is None else source.path.absolute()
