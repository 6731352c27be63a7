"""Which files of a project import which, and which can run in one process.

A repository of many programs is no program. What one of them stores is not there when another runs, so a question about
a function is one about the files that can be loaded beside its own: those that lead to it by imports, as any of them
may be the entry point, and all that these load. Edges are read from texts, which costs a hundredth of a parse: import
statements, imports by strings, files that are run, and libraries that load what a configuration names. Where a text
does not say what it loads, it may load any file, so what is found is too much rather than too little.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from jaxmigrate.program.imports import imported_files, packages
from jaxmigrate.program.loaded_files import RUNS
from jaxmigrate.program.modules import Project, import_name
from jaxmigrate.program.string_imports import loads_anything, loads_by_name, may_load, may_run, runs_others, says_path

_CONFIGURATION = re.compile(r"^def get_config\b", re.MULTILINE)


def _any(_text: str) -> bool:
    return True


class ImportGraph:
    """The import graph of some files of a project; what was read is kept.

    `given` are files that are sure to be of one program: there, any import by a string counts, elsewhere one that fits.
    Of files that something may load without saying so, only those count whose text `matters`.
    """

    def __init__(
        self,
        project: Project,
        files: Iterable[Path],
        given: Collection[Path] = (),
        matters: Callable[[str], bool] = _any,
    ) -> None:
        self.project = project
        self.files = tuple(files)
        self.given = given
        self._matters = matters
        self._imported: dict[Path, frozenset[Path]] = {}
        self._importers: dict[Path, list[Path]] | None = None
        self._by_name: list[Path] = []  # the files that import by a string
        self._running: list[Path] = []  # the files that may run others
        self._loaders: dict[Path, list[Path]] = {}
        self._loaded: dict[Path, list[Path]] = {}
        self._above: dict[Path, frozenset[Path]] = {}
        self._unsaid: list[Path] | None = None
        self._configurations: list[Path] | None = None

    def of(self, given: Collection[Path]) -> ImportGraph:
        """The same graph, where other files are sure to be of one program."""
        self._note_importers()
        found = copy.copy(self)  # what was read is shared
        found.given = given
        return found

    def over(self, files: Iterable[Path], given: Collection[Path]) -> ImportGraph:
        """The graph of other files of the project; what their statements run is not worked out again."""
        found = ImportGraph(self.project, files, given, self._matters)
        found._imported = self._imported
        return found

    def text(self, path: Path) -> str:
        """The text of a file, empty where it cannot be read."""
        return self.project.text(path) or ""

    def imported(self, path: Path) -> frozenset[Path]:
        """The files that the import statements of one run, the packages on the way included."""
        if path not in self._imported:
            direct = imported_files(path, self.text(path), self.project)
            around = (init for one in (path, *direct) for init in packages(one, self.project))
            self._imported[path] = direct.union(around) - {path}
        return self._imported[path]

    def beneath(self, paths: Iterable[Path]) -> set[Path]:
        """Some files and all that their import statements run, directly or not."""
        return _closure(paths, self.imported)

    def importers_of(self, path: Path) -> list[Path]:
        """The files whose import statements run one."""
        return self._note_importers().get(path, [])

    def _note_importers(self) -> Mapping[Path, list[Path]]:
        """Reads, once, who imports whom, and who imports by a string."""
        if self._importers is None:
            self._importers = {}
            for file in self.files:
                for one in self.imported(file):
                    self._importers.setdefault(one, []).append(file)
                if loads_by_name(self.text(file)):
                    self._by_name.append(file)
                if RUNS.search(self.text(file)):
                    self._running.append(file)
        return self._importers

    def loaders_of(self, path: Path) -> list[Path]:
        """The files that may load one by a string that says its name or path, or by a flag for configurations."""
        if path not in self._loaders:
            name = import_name(path)
            by_name = (one for one in self.loading_by_name() if one != path and name in self.text(one))
            found = [one for one in by_name if may_load(self.text(one), path)]
            by_path = (one for one in self.running_others() if one != path and path.name in self.text(one))
            found += [one for one in by_path if one not in found and says_path(self.text(one), path)]
            if path in self._configured():
                found += [one for one in self.files if "config_flags" in self.text(one)]
            self._loaders[path] = found
        return self._loaders[path]

    def loading_by_name(self) -> list[Path]:
        """The files that load some other one by a string."""
        self._note_importers()
        return self._by_name

    def running_others(self) -> list[Path]:
        """The files that may run some other one which they do not import by a statement."""
        self._note_importers()
        return self._running

    def loaded_by(self, path: Path) -> list[Path]:
        """The files that one may load although no import statement of it says so."""
        if path not in self._loaded:
            text = self.text(path)
            if loads_anything(text):
                found = self._unsaid_files()
            else:
                found = [one for one in self.files if may_run(text, one)] if runs_others(text) else []
            if "config_flags" in text:
                found = [*found, *self._configured()]
            self._loaded[path] = found
        return self._loaded[path]

    def _unsaid_files(self) -> list[Path]:
        if self._unsaid is None:
            self._unsaid = [one for one in self.files if self._matters(self.text(one))]
        return self._unsaid

    def _configured(self) -> list[Path]:
        """The files that a flag may name: absl's programs run their `get_config`."""
        if self._configurations is None:
            self._configurations = [one for one in self._unsaid_files() if _CONFIGURATION.search(self.text(one))]
        return self._configurations

    def above(self, paths: Iterable[Path]) -> set[Path]:
        """Some files and those that lead to them, directly or not."""
        found = set[Path]()
        for path in paths:
            if path not in self._above:
                above = _closure([path], lambda one: (*self.importers_of(one), *self.loaders_of(one)))
                self._above[path] = frozenset(above)
            found |= self._above[path]
        return found

    def together(self, paths: Iterable[Path]) -> set[Path]:
        """The files that may be loaded in a process which loads some, these included."""
        leading = self.above(paths).union(one for one in self.loading_by_name() if one in self.given)
        return _closure(leading, lambda path: (*self.imported(path), *self.loaded_by(path)))


def _closure(start: Iterable[Path], edges: Callable[[Path], Iterable[Path]]) -> set[Path]:
    found, pending = set[Path](), list(start)
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            pending += edges(path)
    return found
