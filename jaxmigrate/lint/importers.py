"""Which files lead to some others by their imports, told by the texts alone."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from jaxmigrate.program.import_graph import ImportGraph
from jaxmigrate.program.modules import Project


class Importers:
    """Which files lead to some of a set of files, remembered for every file that was asked about or passed."""

    def __init__(self, project: Project, targets: Collection[Path]) -> None:
        self._graph, self._targets = ImportGraph(project, ()), targets
        self._none: set[Path] = set()

    def lead(self, start: Path) -> bool:
        """Whether a file is one of the targets or imports one, directly or not; a notebook, not looked into, may."""
        seen, waiting = {start}, [start]
        while waiting:
            path = waiting.pop()
            if path in self._targets or path.suffix == ".ipynb":
                return True
            fresh = self._graph.imported(path) - seen - self._none
            seen |= fresh
            waiting += fresh
        self._none |= seen
        return False
