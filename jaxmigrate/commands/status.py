"""`jaxmigrate status PATH...`: one page of how far a project's migration is, and what is next."""

from __future__ import annotations

import argparse
import ast
import importlib
import shutil
import sys
from collections.abc import Iterable

from jaxmigrate.commands import Failure
from jaxmigrate.commands.beside import texts_beside
from jaxmigrate.commands.inputs import Inputs, load, tell_if_nothing_is_there
from jaxmigrate.commands.planning import plan_files
from jaxmigrate.commands.reporting import write_reports
from jaxmigrate.commands.waiting import under_way
from jaxmigrate.config import Config
from jaxmigrate.lint.linting import parsed, place
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.program.modules import Module, Project, read_utf8
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import references
from jaxmigrate.reports import status_html, status_json, status_markdown, status_text
from jaxmigrate.reports.fix_result import FixedFile, FixResult
from jaxmigrate.reports.status import status_of
from jaxmigrate.requirements import pins, target_jax, written_for
from jaxmigrate.sources import SourceFile
from jaxmigrate.terminal import plural, wants_colour

SHARD_MAP = "jax.shard_map"
HELPERS = "_shard_map"  # what jaxmigrate calls the functions that it writes around it
_WRITERS = {".json": status_json.write, ".md": status_markdown.write, ".html": status_html.write}


def run(options: argparse.Namespace) -> int:
    """Prints the page; 1 where something is left to do, 2 where something could not be read.

    Raises:
        Failure: Standard input is no project.
    """
    if "-" in options.paths:
        raise Failure("status is about files and folders, not about standard input")
    with under_way("reading"):
        groups = load(options.paths, options.force_exclude)
    tell_if_nothing_is_there(options.paths, groups)
    plans = [_planned(group) for group in groups]
    result = FixResult(
        files=[file for plan in plans for file in plan.files], errors=[error for plan in plans for error in plan.errors]
    )
    files = sum(group.looked_at for group in groups)
    done = sum(_migrated(group.sources) for group in groups)
    config = groups[0].config if groups else Config()
    raised = [pin for group in groups for pin in pins(group.root)]
    status = status_of(result, options.paths, files, done, config, raised)
    write_reports(status, options.report, _WRITERS)
    if options.format == "text":
        width = shutil.get_terminal_size((100, 24)).columns
        sys.stdout.write(status_text.write(status, wants_colour(sys.stdout), width))
    else:
        writer = importlib.import_module(f"jaxmigrate.reports.status_{options.format}")
        sys.stdout.write(writer.write(status))
    return 2 if status.errors else 1 if status.remaining else 0


def _planned(group: Inputs) -> FixResult:
    """What `fix` would make of the files of a project, without the diffs."""
    root = group.root
    target, era = target_jax(group.config, root), written_for(root)
    with under_way(f"planning {plural(len(group.sources), 'file')}"):
        beside = texts_beside(group.sources, group.config)
        declared = group.config.declared
        planned, broken = plan_files(
            group.sources, PlanOptions(group.config.layout, target, era, declared=declared), beside
        )
    files = [FixedFile(file.source.name, "shown", file.sites, names=file.plan.names) for file in planned]
    return FixResult(files, [*group.errors, *broken])


def _migrated(sources: Iterable[SourceFile]) -> int:
    """How many maps of a project are `shard_map`."""
    modules, _ = parsed(source for source in sources if "shard_map" in source.text)
    texts = {place(source): source.text for source in sources}
    resolver = Resolver(Project(modules, lambda path: texts.get(path) or read_utf8(path), texts))
    return sum(_maps(module, resolver) for module in modules)


def _maps(module: Module, resolver: Resolver) -> int:
    """The maps of a module: a helper around `shard_map` is none, but each of its uses is."""
    own = [one.node for one in references(module, resolver, SHARD_MAP)]
    direct = sum(not _is_in_helper(node, module) for node in own)
    uses = (node for node in module.table.references if isinstance(node, ast.Name) and node.id.startswith(HELPERS))
    return direct + sum(not _is_in_helper(node, module) for node in uses)


def _is_in_helper(node: ast.AST, module: Module) -> bool:
    scope = module.table.scope_of.get(node)
    while scope is not None:
        if getattr(scope.node, "name", "").startswith(HELPERS):
            return True
        scope = scope.parent
    return False
