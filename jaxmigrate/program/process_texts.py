"""The texts of the files that may be loaded in one process with a module: what another program says is not asked."""

from __future__ import annotations

from jaxmigrate.program.import_graph import ImportGraph
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once, once_each
from jaxmigrate.program.resolve import Resolver


@once_each
def texts_beside(module: Module, resolver: Resolver) -> list[str]:
    """The texts of a module and of those that may run with it."""
    graph = _graph(resolver)
    return [graph.text(path) for path in sorted(graph.together([module.path]))]


@once
def _graph(resolver: Resolver) -> ImportGraph:
    project = resolver.project
    files = sorted(ImportGraph(project, ()).beneath(module.path for module in project.program))
    return ImportGraph(project, ()).over(files, ())
