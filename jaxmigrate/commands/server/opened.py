"""A document that an editor has open, in the protocol's terms: its parts, and what is shown of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from string import ascii_letters, digits
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.uris import to_fs_path

from jaxmigrate.commands.rule import whole
from jaxmigrate.commands.server.changes import rewrite
from jaxmigrate.commands.server.document import Document
from jaxmigrate.commands.server.problems import problems
from jaxmigrate.commands.server.project import Neighbours
from jaxmigrate.config import ConfigError
from jaxmigrate.findings import Finding, Note
from jaxmigrate.findings.rule_pages import rule_pages
from jaxmigrate.migrate.plan import SitePlan
from jaxmigrate.sources import SourceError, SourceFile

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer
    from pygls.workspace import TextDocument

SOURCE = "jaxmigrate"
FIX_ALL = f"source.fixAll.{SOURCE}"
SUFFIXES = (".py", ".pyi", ".ipynb")
PYTHON = ("python", "", None)
Severity = lsp.DiagnosticSeverity


class Workspace:
    """The open documents, a notebook as one."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._unsaved: dict[Path, SourceFile] = {}
        self.neighbours = Neighbours(self._unsaved)

    def opened(self, uri: str) -> Opened | None:
        """The document that goes by a URI, or that has a cell that does; None for what lint does not read."""
        workspace = self._server.workspace
        notebook = workspace.get_notebook_document(notebook_uri=uri) or workspace.get_notebook_document(cell_uri=uri)
        if notebook is None:
            text = workspace.get_text_document(uri)
            document = Document(Path(text.path).absolute(), text.source)
            found = Opened(self, uri, document, {0: text})
        else:
            parts = {
                number: workspace.get_text_document(cell.document) for number, cell in enumerate(notebook.cells, 1)
            }
            code = [
                parts[number].source
                if cell.kind is lsp.NotebookCellKind.Code and parts[number].language_id in PYTHON
                else None
                for number, cell in enumerate(notebook.cells, 1)
            ]
            path = Path(to_fs_path(notebook.uri) or notebook.uri).absolute()
            found = Opened(self, notebook.uri, Document.of_cells(path, code), parts)
        if found.document.path.suffix not in SUFFIXES:
            return None
        self._unsaved.pop(found.document.path, None)
        with contextlib.suppress(SourceError):  # a notebook that is being written: the one on disk counts
            self._unsaved[found.document.path] = found.document.source
        return found

    def forget(self, uri: str) -> None:
        """What a closed document says counts no more."""
        self._unsaved.pop(Path(to_fs_path(uri) or uri).absolute(), None)

    def text(self, uri: str) -> TextDocument:
        """A text by its URI, open or not."""
        return self._server.workspace.get_text_document(uri)


class Opened:
    """One document: its URI, what lint reads, and the texts that the editor knows, by number of cell or under 0."""

    def __init__(self, workspace: Workspace, uri: str, document: Document, parts: dict[int, TextDocument]) -> None:
        self.workspace, self.uri, self.document, self.parts = workspace, uri, document, parts

    def found(self, *, again: bool = False) -> tuple[list[Finding], list[SourceError]]:
        """What lint finds in it, and what does not parse."""
        return problems(self.document, self.workspace.neighbours, again=again)

    def diagnostics(self, *, with_sites: bool) -> dict[str, list[lsp.Diagnostic]]:
        """What is to be shown, by the URI of the part that it is in."""
        shown: dict[str, list[lsp.Diagnostic]] = {part.uri: [] for part in self.parts.values()}
        try:
            findings, errors = self.found(again=with_sites)
            sites = rewrite(self.document).sites if with_sites and not errors else ()
        except (ConfigError, SourceError) as error:
            findings, sites = [], ()
            line, column = (error.line, error.column) if isinstance(error, SourceError) else (0, 0)
            errors = [SourceError(self.document.name, getattr(error, "message", str(error)), line, column)]
        told = {(f.cell, f.line, f.column) for f in findings}
        for one in errors:
            self._add(shown, one, lsp.Diagnostic(_NOWHERE, one.message, severity=Severity.Error))
        for finding in findings:
            self._add(shown, finding, self._of_finding(finding))
        for site in sites:
            if (site.cell, site.line, site.column) not in told and site.cell in self.parts:
                self._add(shown, site, _of_site(site))
        return shown

    def of_finding(self, finding: Finding) -> tuple[str, lsp.Diagnostic]:
        """Where a finding is shown, and how."""
        part, place = self._place(finding)
        shown = self._of_finding(finding)
        shown.range = place
        return part.uri, shown

    def _add(
        self,
        shown: dict[str, list[lsp.Diagnostic]],
        told: Finding | SourceError | SitePlan,
        diagnostic: lsp.Diagnostic,
    ) -> None:
        part, diagnostic.range = self._place(told)
        diagnostic.source = SOURCE
        shown[part.uri].append(diagnostic)

    def _of_finding(self, finding: Finding) -> lsp.Diagnostic:
        severity = Severity.Error if finding.code.startswith(("JM1", "JM3")) else Severity.Warning
        shown = lsp.Diagnostic(_NOWHERE, finding.message, severity=severity, code=finding.code, source=SOURCE)
        shown.related_information = [self._related(note) for note in finding.notes if Path(note.path).is_absolute()]
        return shown

    def _related(self, note: Note) -> lsp.DiagnosticRelatedInformation:
        if note.path == self.document.name:
            part, place = self._place(note)
        else:
            part = self.workspace.text(Path(note.path).as_uri())
            place = _range(part, note.file_line or note.line, note.column)
        return lsp.DiagnosticRelatedInformation(lsp.Location(part.uri, place), note.message)

    def _place(self, told: Finding | SourceError | SitePlan | Note) -> tuple[TextDocument, lsp.Range]:
        """Where something is told: in its part, or in a notebook that is open as a file at the line of that."""
        part = self.parts.get(told.cell)
        if part is None:
            part = next(iter(self.parts.values()))
            line = max(getattr(told, "file_line", 0), 1)
            content = part.lines[line - 1].rstrip("\r\n") if line <= len(part.lines) else ""
            return part, _range(part, line, 1, line, max(len(content), 1) + 1)
        ends = (told.end_line, told.end_column) if isinstance(told, Finding) else (0, 0)
        return part, _range(part, told.line or 1, told.column or 1, *ends)


_NOWHERE = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))


def _of_site(site: SitePlan) -> lsp.Diagnostic:
    """A map: a hint where fix would rewrite it, else why it would not."""
    if site.status == "left":
        return lsp.Diagnostic(_NOWHERE, site.reason, severity=Severity.Information, code=site.code)
    return lsp.Diagnostic(_NOWHERE, "jaxmigrate fix makes this pmap a shard_map", severity=Severity.Hint)


def _range(document: TextDocument, line: int, column: int, end_line: int = 0, end_column: int = 0) -> lsp.Range:
    """A place, counted from 1 in characters, as the editor counts; one without an end is a word long."""
    lines = document.lines
    if not end_line:
        content = lines[line - 1] if line <= len(lines) else ""
        word = len(content[column - 1 :]) - len(content[column - 1 :].lstrip("._" + ascii_letters + digits))
        end_line, end_column = line, column + max(word, 1)
    start, end = lsp.Position(line - 1, column - 1), lsp.Position(end_line - 1, end_column - 1)
    return document.position_codec.range_to_client_units(lines, lsp.Range(start, end))


def explanation(shown: Iterable[lsp.Diagnostic], at: lsp.Position) -> lsp.Hover | None:
    """The pages of the rules of what is shown at a place."""
    here = [d for d in shown if _before(d.range.start, at) and _before(at, d.range.end)]
    pages = rule_pages() if here else {}
    codes = dict.fromkeys(str(d.code) for d in here if str(d.code) in pages)
    if not codes:
        return None
    text = "\n\n---\n\n".join(whole(pages[code]) for code in codes)
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text))


def _before(one: lsp.Position, other: lsp.Position) -> bool:
    return (one.line, one.character) <= (other.line, other.character)
