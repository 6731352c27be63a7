"""`jaxmigrate server`: a language server on standard input and output, for editors.

The document and all others that are open are taken as the editor has them, saved or not; the rest of the project is
read from the disk. One document is not the whole program, so that the rewrite that is offered is the one that leaves
every caller as it is (`--layout stacked`).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING

from jaxmigrate import __version__
from jaxmigrate.commands import Failure

if TYPE_CHECKING:
    from lsprotocol import types as lsp
    from pygls.lsp.server import LanguageServer

    from jaxmigrate.commands.server.opened import Opened

SOURCE = "jaxmigrate"
PAUSE = 0.2  # seconds without a key pressed before a document is looked at, at the least


def run(options: argparse.Namespace) -> int:  # noqa: ARG001 - every command is called so
    """Serves one editor until it says goodbye; 1 where it ends the server without having shut it down.

    Raises:
        Failure: pygls is not installed.
    """
    if find_spec("pygls") is None or find_spec("lsprotocol") is None:
        raise Failure("the language server needs pygls: pip install 'jaxmigrate[server]'")
    warnings.simplefilter("ignore")  # what Python has to say of the strings in a document is for others to tell
    service = Service()
    sys.stdout.flush()
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as channel:  # which pygls closes
        service.server.start_io(stdout=channel)
    return 1 if service.was_killed else 0


class Service:
    """The server with all that it answers to."""

    def __init__(self) -> None:
        from lsprotocol import types as lsp
        from pygls.lsp.server import LanguageServer

        from jaxmigrate.commands.server.opened import FIX_ALL, Workspace

        notebooks = [lsp.NotebookDocumentFilterWithNotebook(notebook="*")]
        self.server: LanguageServer = LanguageServer(
            SOURCE,
            __version__,
            text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental,
            notebook_document_sync=lsp.NotebookDocumentSyncOptions(notebooks, save=True),
        )
        self.workspace = Workspace(self.server)
        self.was_killed = False
        self._has_shut_down = False
        self._waiting: dict[str, asyncio.TimerHandle] = {}
        self._shown: dict[str, dict[str, list[lsp.Diagnostic]]] = {}  # by document and part
        self._pause = PAUSE
        kinds = [lsp.CodeActionKind.QuickFix, FIX_ALL]
        self._hears_of_its_end()
        self._hears_of_documents()
        self._hears_of_notebooks()
        self._answers(lsp.CodeActionOptions(code_action_kinds=kinds))

    def _hears_of_its_end(self) -> None:
        from lsprotocol import types as lsp

        feature = self.server.feature

        @feature(lsp.SHUTDOWN)
        def shut_down(_: None) -> None:
            self._has_shut_down = True

        @feature(lsp.EXIT)
        def told_to_exit(_: None) -> None:
            self.was_killed = not self._has_shut_down

    def _hears_of_documents(self) -> None:
        from lsprotocol import types as lsp

        feature = self.server.feature

        @feature(lsp.TEXT_DOCUMENT_DID_OPEN)
        def opened(params: lsp.DidOpenTextDocumentParams) -> None:
            self.show(params.text_document.uri)

        @feature(lsp.TEXT_DOCUMENT_DID_SAVE)
        def saved(params: lsp.DidSaveTextDocumentParams) -> None:
            self.show_all(params.text_document.uri)

        @feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
        async def changed(params: lsp.DidChangeTextDocumentParams) -> None:
            self.show_soon(params.text_document.uri)

        @feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
        def closed(params: lsp.DidCloseTextDocumentParams) -> None:
            self.forget(params.text_document.uri)

    def _hears_of_notebooks(self) -> None:
        from lsprotocol import types as lsp

        feature = self.server.feature

        @feature(lsp.NOTEBOOK_DOCUMENT_DID_OPEN)
        def notebook_opened(params: lsp.DidOpenNotebookDocumentParams) -> None:
            self.show(params.notebook_document.uri)

        @feature(lsp.NOTEBOOK_DOCUMENT_DID_SAVE)
        def notebook_saved(params: lsp.DidSaveNotebookDocumentParams) -> None:
            self.show_all(params.notebook_document.uri)

        @feature(lsp.NOTEBOOK_DOCUMENT_DID_CHANGE)
        async def notebook_changed(params: lsp.DidChangeNotebookDocumentParams) -> None:
            self.show_soon(params.notebook_document.uri)

        @feature(lsp.NOTEBOOK_DOCUMENT_DID_CLOSE)
        def notebook_closed(params: lsp.DidCloseNotebookDocumentParams) -> None:
            self.forget(params.notebook_document.uri)

    def _answers(self, actions: lsp.CodeActionOptions) -> None:
        from lsprotocol import types as lsp

        feature = self.server.feature

        @feature(lsp.TEXT_DOCUMENT_CODE_ACTION, actions)
        def offered(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
            from jaxmigrate.commands.server.offers import offers

            document = self.workspace.opened(params.text_document.uri)
            return [] if document is None else offers(document, params)

        @feature(lsp.TEXT_DOCUMENT_HOVER)
        def explained(params: lsp.HoverParams) -> lsp.Hover | None:
            from jaxmigrate.commands.server.opened import explanation

            uri = params.text_document.uri
            found = (one for parts in self._shown.values() for one in parts.get(uri, ()))
            return explanation(found, params.position)

    def show(self, uri: str, *, with_sites: bool = True) -> None:
        """Publishes what is found in a document; the sites of maps and the files that use it are looked for anew."""
        document = self.workspace.opened(uri)
        if document is None:
            return
        self._stop_waiting(document.uri)
        began = time.monotonic()
        self._publish(document, document.diagnostics(with_sites=with_sites))
        self._pause = max(PAUSE, time.monotonic() - began)

    def show_soon(self, uri: str) -> None:
        """The same, once nothing has changed for a while: the longer a look takes, the longer that is."""
        self._stop_waiting(uri)
        loop = asyncio.get_running_loop()
        self._waiting[uri] = loop.call_later(self._pause, lambda: self.show(uri, with_sites=False))

    def show_all(self, saved: str) -> None:
        """Publishes anew what is found in every open document, for they depend on one another."""
        self.show(saved)
        for uri in [uri for uri in self._shown if uri != saved]:
            self.show(uri)

    def forget(self, uri: str) -> None:
        """Takes back what was published of a document that is closed."""
        from lsprotocol import types as lsp

        self._stop_waiting(uri)
        self.workspace.forget(uri)
        for part in self._shown.pop(uri, {}):
            self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(part, []))

    def _publish(self, document: Opened, found: dict[str, list[lsp.Diagnostic]]) -> None:
        from lsprotocol import types as lsp

        for part in self._shown.get(document.uri, {}).keys() - found.keys():  # a cell that was deleted
            self.server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(part, []))
        for part, diagnostics in found.items():
            version = self.server.workspace.get_text_document(part).version
            params = lsp.PublishDiagnosticsParams(uri=part, diagnostics=diagnostics, version=version)
            self.server.text_document_publish_diagnostics(params)
        self._shown[document.uri] = found

    def _stop_waiting(self, uri: str) -> None:
        handle = self._waiting.pop(uri, None)
        if handle is not None:
            handle.cancel()
