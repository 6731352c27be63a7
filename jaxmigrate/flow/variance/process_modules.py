"""Which modules of a project run in one process, parsed: the import graph of the program and of what it imports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from jaxmigrate.program.import_graph import ImportGraph
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.string_imports import loads_anything


class ProcessModules:
    """The modules of the program, and those of the project that they import; answers are kept."""

    def __init__(self, resolver: Resolver) -> None:
        self._project = resolver.project
        self._answers: dict[Module, frozenset[Module]] = {}
        self._sets: dict[frozenset[Module], frozenset[Module]] = {}

    @cached_property
    def _graph(self) -> ImportGraph:
        start = ImportGraph(self._project, ())
        files = sorted(start.beneath(module.path for module in self._project.program))
        return start.over(files, [path for path in files if loads_anything(start.text(path))])

    @cached_property
    def modules(self) -> tuple[Module, ...]:
        """All of them that parse."""
        return tuple(self._parsed(self._graph.files))

    @cached_property
    def everything(self) -> frozenset[Module]:
        """All of them, as if they ran in one process."""
        return self._shared(frozenset(self.modules))

    def beside(self, module: Module) -> frozenset[Module]:
        """The modules that may be loaded in a process that runs a function of one, itself included."""
        if module not in self._answers:
            if module in self.everything:
                found = self._shared(frozenset(self._parsed(self._graph.together([module.path]))))
            else:
                found = self.everything
            self._answers[module] = found
        return self._answers[module]

    def imported(self, module: Module) -> list[Module]:
        """The modules of the project that the import statements of one run."""
        return list(self._parsed(sorted(self._graph.imported(module.path))))

    def _parsed(self, paths: Iterable[Path]) -> Iterator[Module]:
        return (module for path in paths if (module := self._project.module(path)) is not None)

    def _shared(self, modules: frozenset[Module]) -> frozenset[Module]:
        """The set that is kept for equal ones."""
        return self._sets.setdefault(modules, modules)
