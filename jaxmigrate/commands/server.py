"""`jaxmigrate server`: a language server on standard input and output, for editors."""

from __future__ import annotations

import argparse
import asyncio
import sys
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from string import ascii_letters, digits
from typing import TYPE_CHECKING

from jaxmigrate import __version__, editor
from jaxmigrate.commands import Failure
from jaxmigrate.config import ConfigError
from jaxmigrate.findings import Finding
from jaxmigrate.migrate.plan import SitePlan
from jaxmigrate.sources import SourceError

if TYPE_CHECKING:
    from lsprotocol import types as lsp
    from pygls.lsp.server import LanguageServer
    from pygls.workspace import TextDocument

SOURCE = "jaxmigrate"
PAUSE = 0.2  # seconds without a key pressed before a document is looked at
FIX_ALL = f"source.fixAll.{SOURCE}"


def run(options: argparse.Namespace) -> int:  # noqa: ARG001 - every command is called so
    """Serves one editor until it says goodbye.

    Raises:
        Failure: pygls is not installed.
    """
    if find_spec("pygls") is None or find_spec("lsprotocol") is None:
        raise Failure("the language server needs pygls: pip install 'jaxmigrate[server]'")
    warnings.simplefilter("ignore")  # what Python has to say of the strings in a document is for others to tell
    made().start_io()
    return 0


def made() -> LanguageServer:
    """The server with all that it answers to."""
    from lsprotocol import types as lsp
    from pygls.lsp.server import LanguageServer

    server = LanguageServer(SOURCE, __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental)
    waiting: dict[str, asyncio.TimerHandle] = {}

    def show(uri: str, *, with_sites: bool) -> None:
        waiting.pop(uri, None)
        document = server.workspace.get_text_document(uri)
        found = _diagnostics(document, with_sites=with_sites)
        server.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri=uri, diagnostics=found, version=document.version)
        )

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        show(params.text_document.uri, with_sites=True)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        _stop(waiting, params.text_document.uri)
        show(params.text_document.uri, with_sites=True)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        _stop(waiting, uri)
        waiting[uri] = asyncio.get_running_loop().call_later(PAUSE, lambda: show(uri, with_sites=False))

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        _stop(waiting, uri)
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri=uri, diagnostics=[]))

    kinds = [lsp.CodeActionKind.QuickFix, FIX_ALL]

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=kinds))
    def offered(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        return _actions(server.workspace.get_text_document(params.text_document.uri), params)

    return server


def _stop(waiting: dict[str, asyncio.TimerHandle], uri: str) -> None:
    handle = waiting.pop(uri, None)
    if handle is not None:
        handle.cancel()


def _document(document: TextDocument) -> editor.Document | None:
    """The document, if it is one that lint reads."""
    path = Path(document.path).absolute()
    return editor.Document(path, document.source) if path.suffix in (".py", ".pyi") else None


# Diagnostics


def _diagnostics(document: TextDocument, *, with_sites: bool) -> list[lsp.Diagnostic]:
    from lsprotocol import types as lsp

    read = _document(document)
    if read is None:
        return []
    try:
        findings, errors = editor.problems(read)
        sites = editor.rewrite(read).sites if with_sites and not errors else ()
    except (ConfigError, SourceError) as error:
        return [_at(document, 1, 1, 0, 0, str(error), lsp.DiagnosticSeverity.Error)]
    told = {(f.line, f.column) for f in findings}
    return [
        *(_at(document, e.line or 1, e.column or 1, 0, 0, e.message, lsp.DiagnosticSeverity.Error) for e in errors),
        *(_of_finding(document, finding) for finding in findings),
        *(_of_site(document, site) for site in sites if (site.line, site.column) not in told),
    ]


def _of_finding(document: TextDocument, finding: Finding) -> lsp.Diagnostic:
    from lsprotocol import types as lsp

    severe = finding.code.startswith(("JM1", "JM3"))
    severity = lsp.DiagnosticSeverity.Error if severe else lsp.DiagnosticSeverity.Warning
    place = (finding.line, finding.column, finding.end_line, finding.end_column)
    shown = _at(document, *place, finding.message, severity, finding.code)
    own = Path(document.path).absolute().as_posix()
    shown.related_information = [
        lsp.DiagnosticRelatedInformation(
            lsp.Location(Path(note.path).absolute().as_uri(), _range(document, note.line, note.column, 0, 0)),
            note.message,
        )
        for note in finding.notes
        if note.path == own or Path(note.path).is_absolute()
    ]
    return shown


def _of_site(document: TextDocument, site: SitePlan) -> lsp.Diagnostic:
    """A map: a hint where fix would rewrite it, else why it would not."""
    from lsprotocol import types as lsp

    if site.status == "left":
        level = lsp.DiagnosticSeverity.Information
        return _at(document, site.line, site.column, 0, 0, site.reason, level, site.code)
    message = "jaxmigrate fix makes this pmap a shard_map"
    return _at(document, site.line, site.column, 0, 0, message, lsp.DiagnosticSeverity.Hint)


def _at(
    document: TextDocument,
    line: int,
    column: int,
    end_line: int,
    end_column: int,
    message: str,
    severity: lsp.DiagnosticSeverity,
    code: str | None = None,
) -> lsp.Diagnostic:
    from lsprotocol import types as lsp

    place = _range(document, line, column, end_line, end_column)
    return lsp.Diagnostic(place, message, severity=severity, code=code, source=SOURCE)


def _range(document: TextDocument, line: int, column: int, end_line: int, end_column: int) -> lsp.Range:
    """A place, counted from 1 in characters, as the editor counts; one without an end is a word long."""
    from lsprotocol import types as lsp

    lines = document.lines
    if not end_line:
        content = lines[line - 1] if line <= len(lines) else ""
        word = len(content[column - 1 :]) - len(content[column - 1 :].lstrip("._" + ascii_letters + digits))
        end_line, end_column = line, column + max(word, 1)
    start, end = lsp.Position(line - 1, column - 1), lsp.Position(end_line - 1, end_column - 1)
    return document.position_codec.range_to_client_units(lines, lsp.Range(start, end))


# What is offered


def _actions(document: TextDocument, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    read = _document(document)
    if read is None:
        return []
    wanted = params.context.only
    offered: list[lsp.CodeAction] = []
    try:
        if _is_wanted("quickfix", wanted):
            offered += _to_ignore(document, read, params)
        offered += _to_fix(document, read, params)
    except (ConfigError, SourceError) as error:
        print(f"jaxmigrate: {error}", file=sys.stderr)
    return offered


def _is_wanted(kind: str, wanted: Sequence[lsp.CodeActionKind | str] | None) -> bool:
    """Whether an editor that asks for some kinds asks for this one, or for one that it belongs to."""
    return not wanted or any(kind == str(getattr(one, "value", one)) or kind.startswith(f"{one}.") for one in wanted)


def _to_ignore(document: TextDocument, read: editor.Document, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    from lsprotocol import types as lsp

    found, _ = editor.problems(read)
    offered = []
    for finding in found:
        shown = _of_finding(document, finding)
        change = editor.ignored(read, finding) if _meet(shown.range, params.range) else None
        if change is not None:
            offered.append(
                lsp.CodeAction(
                    f"Ignore {finding.code} on this line",
                    kind=lsp.CodeActionKind.QuickFix,
                    diagnostics=[shown],
                    edit=_edit(document, (change,)),
                )
            )
    return offered


def _to_fix(document: TextDocument, read: editor.Document, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """The rewrite of the document, for a map under the cursor, and for an editor that wants all fixed."""
    from lsprotocol import types as lsp

    all_of_it = _is_wanted(FIX_ALL, params.context.only) and params.context.only is not None
    here = _is_wanted("quickfix", params.context.only)
    migrates = ("pmap", "jax.", "shard_map")
    if not (all_of_it or here) or not any(word in read.text for word in migrates):
        return []
    planned = editor.rewrite(read)
    if not planned.changes:
        return []
    title = "Rewrite pmap and old names in this file (jaxmigrate fix)"
    edit = _edit(document, planned.changes)
    offered = []
    if all_of_it:
        offered.append(lsp.CodeAction(title, kind=FIX_ALL, edit=edit))
    lines = [*(s.line for s in planned.sites if s.status == "rewritten"), *(c.first + 1 for c in planned.changes)]
    if here and any(params.range.start.line <= line - 1 <= params.range.end.line for line in lines):
        offered.append(lsp.CodeAction(title, kind=lsp.CodeActionKind.QuickFix, edit=edit))
    return offered


def _meet(one: lsp.Range, other: lsp.Range) -> bool:
    return one.start.line <= other.end.line and other.start.line <= one.end.line


def _edit(document: TextDocument, found: tuple[editor.Change, ...]) -> lsp.WorkspaceEdit:
    from lsprotocol import types as lsp

    lines = document.lines
    edits = []
    for change in found:
        end = lsp.Position(change.end, 0)
        if change.end == len(lines) and lines and not lines[-1].endswith("\n"):
            end = lsp.Position(change.end - 1, document.position_codec.client_num_units(lines[-1]))
        edits.append(lsp.TextEdit(lsp.Range(lsp.Position(change.first, 0), end), change.text))
    return lsp.WorkspaceEdit(changes={document.uri: edits})
