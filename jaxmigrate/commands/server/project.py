"""The rest of a project as an open document sees it: other open documents unsaved, and what uses the document."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from jaxmigrate.commands.beside import root_of
from jaxmigrate.config import find_config
from jaxmigrate.lint.examine import concerns
from jaxmigrate.lint.importers import Importers
from jaxmigrate.program.imports import imported_files
from jaxmigrate.program.modules import Project, read_utf8
from jaxmigrate.sources import NOTEBOOK, SourceError, SourceFile, discover, read_source
from jaxmigrate.sources.notebooks import python_in


class Neighbours:
    """The files around the open documents, whose texts are those of the editor where it has them."""

    def __init__(self, unsaved: Mapping[Path, SourceFile] | None = None) -> None:
        """`unsaved` are the open documents by path, as they are at any time."""
        self._unsaved: Mapping[Path, SourceFile] = {} if unsaved is None else unsaved
        self._users: dict[Path, tuple[Path, ...]] = {}

    def text(self, path: Path) -> str | None:
        """The text of a module, None where it cannot be read."""
        open_one = self._unsaved.get(path)
        return read_utf8(path) if open_one is None else open_one.text

    def users(self, path: Path, *, again: bool) -> list[SourceFile]:
        """The files of the project that may map what a document has, since they import it, directly or not.

        They are looked for the first time, and `again` where asked.
        """
        if again or path not in self._users:
            self._users[path] = tuple(self._found(path))
        read = (self._source(user) for user in self._users[path])
        return [source for source in read if source is not None and concerns(source.text)]

    def _found(self, document: Path) -> list[Path]:
        project = Project((), self.text, {document, *self._unsaved}, document.parent)
        importers = Importers(project, {document})
        found = []
        for file in discover([str(root_of(document.parent))], find_config(document).excludes).files:
            path = file.path.absolute()
            text = _code(path) if path.suffix == NOTEBOOK else project.text(path)
            if path == document or text is None or not concerns(text):
                continue
            if any(importers.lead(one) for one in imported_files(path, text, project)):
                found.append(path)
        return found

    def _source(self, path: Path) -> SourceFile | None:
        if path in self._unsaved:
            return self._unsaved[path]
        try:
            return read_source(path)
        except SourceError:
            return None


def _code(path: Path) -> str | None:
    try:
        return python_in(path.read_bytes())
    except OSError:
        return None
