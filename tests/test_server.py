"""`jaxmigrate server`, spoken to by a language client over pipes as an editor does."""

from __future__ import annotations

import ast
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from jaxmigrate.cli import main
from jaxmigrate.commands import server
from jaxmigrate.commands.rule import whole
from jaxmigrate.commands.server.changes import changes, ignored
from jaxmigrate.commands.server.document import Document
from jaxmigrate.commands.server.problems import problems
from jaxmigrate.findings.rule_pages import rule_pages

T = TypeVar("T")
STEP = """\
import jax
from jax import lax

# Länge 🎉
def step(x):
    return "🎉", lax.psum(x, "bacth")

f = jax.pmap(step, axis_name="batch")
"""


class Client(LanguageClient):
    """A client that keeps how the server ended."""

    status: int | None = None

    async def server_exit(self, server: asyncio.subprocess.Process) -> None:
        self.status = server.returncode


class Editor:
    """A client that keeps what the server publishes."""

    def __init__(self, folder: Path) -> None:
        self.client = Client("test", "1")
        self.uri = (folder / "train.py").as_uri()
        self.published: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()
        self.text = ""
        self.version = 1

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
        def keep(params: lsp.PublishDiagnosticsParams) -> None:
            self.published.put_nowait(params)

    async def told(self) -> list[lsp.Diagnostic]:
        """What is published next of the document."""
        return list((await asyncio.wait_for(self.published.get(), 60)).diagnostics)

    async def open(self, text: str) -> list[lsp.Diagnostic]:
        self.text = text
        document = lsp.TextDocumentItem(self.uri, "python", self.version, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(document))
        return await self.told()

    async def told_of(self, uri: str) -> list[lsp.Diagnostic]:
        """What is published next of a document or a cell, whatever else is."""
        while (params := await asyncio.wait_for(self.published.get(), 60)).uri != uri:
            pass
        return list(params.diagnostics)

    async def hover(self, uri: str, line: int, character: int) -> str:
        params = lsp.HoverParams(lsp.TextDocumentIdentifier(uri), lsp.Position(line, character))
        shown = await self.client.text_document_hover_async(params)
        if shown is None:
            return ""
        assert isinstance(shown.contents, lsp.MarkupContent)
        assert shown.contents.kind is lsp.MarkupKind.Markdown
        return shown.contents.value

    def change(self, text: str) -> None:
        self.text = text
        self.version += 1
        document = lsp.VersionedTextDocumentIdentifier(version=self.version, uri=self.uri)
        whole = [lsp.TextDocumentContentChangeWholeDocument(text)]
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, whole))

    async def actions(self, line: int, only: list[str] | None = None) -> list[lsp.CodeAction]:
        at = lsp.Position(line, 0)
        context = lsp.CodeActionContext([], only=only)
        params = lsp.CodeActionParams(lsp.TextDocumentIdentifier(self.uri), lsp.Range(at, at), context)
        found = await self.client.text_document_code_action_async(params)
        return [action for action in found or [] if isinstance(action, lsp.CodeAction)]

    def applied(self, action: lsp.CodeAction) -> str:
        """The document with an action's edits made."""
        assert action.edit is not None
        assert action.edit.changes is not None
        lines = self.text.splitlines(keepends=True)
        for edit in reversed(list(action.edit.changes[self.uri])):
            assert isinstance(edit, lsp.TextEdit)
            start, end = edit.range.start, edit.range.end
            rest = lines[end.line][_index(lines[end.line], end.character) :] if end.line < len(lines) else ""
            first = lines[start.line][: _index(lines[start.line], start.character)] if start.line < len(lines) else ""
            lines[start.line : end.line + 1] = [first + edit.new_text + rest]
        return "".join(lines)


def _index(line: str, units: int) -> int:
    """Where a line is after so many UTF-16 code units."""
    return len(line.encode("utf-16-le")[: 2 * units].decode("utf-16-le"))


def edited(folder: Path, work: Callable[[Editor], Awaitable[T]]) -> T:
    """Does some work in an editor with a server of its own."""

    async def session() -> T:
        editor = Editor(folder)
        await editor.client.start_io(sys.executable, "-m", "jaxmigrate", "server")
        capabilities = lsp.ClientCapabilities()
        answer = await editor.client.initialize_async(lsp.InitializeParams(capabilities, root_uri=folder.as_uri()))
        assert answer.server_info is not None
        assert answer.server_info.name == "jaxmigrate"
        editor.client.initialized(lsp.InitializedParams())
        try:
            return await work(editor)
        finally:
            await editor.client.shutdown_async(None)
            editor.client.exit(None)
            await editor.client.stop()  # type: ignore[no-untyped-call]
            assert editor.client.status == 0

    return asyncio.run(session())


def codes(found: list[lsp.Diagnostic]) -> list[object]:
    return [diagnostic.code for diagnostic in found]


def test_findings_follow_what_is_written(tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        wrong, hint = await editor.open(STEP)
        assert (wrong.code, wrong.severity, wrong.source) == ("JM101", lsp.DiagnosticSeverity.Error, "jaxmigrate")
        assert "did you mean 'batch'?" in wrong.message
        shown = STEP.splitlines()[5]
        place = slice(_index(shown, wrong.range.start.character), _index(shown, wrong.range.end.character))
        assert (wrong.range.start.line, shown[place]) == (5, 'lax.psum(x, "bacth")')
        assert wrong.related_information is not None
        assert [note.location.range.start.line for note in wrong.related_information] == [7]
        assert (hint.range.start.line, hint.severity) == (7, lsp.DiagnosticSeverity.Hint)
        assert await editor.hover(editor.uri, 5, wrong.range.start.character) == whole(rule_pages()["JM101"])
        assert [await editor.hover(editor.uri, line, 0) for line in (5, 7)] == ["", ""]

        editor.change(STEP.replace("bacth", "bat"))
        editor.change(STEP.replace("bacth", "batch"))  # at once: only the last one is looked at
        assert await editor.told() == []
        editor.change("def broken(:\n")
        editor.change("import jax\njax.pmap(\n")
        (broken,) = await editor.told()
        assert broken.message.startswith("cannot be parsed")
        editor.change(STEP)
        assert codes(await editor.told()) == ["JM101"]
        editor.client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(editor.uri)))
        assert codes(await editor.told()) == ["JM101", None]
        editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(editor.uri)))
        assert await editor.told() == []

    edited(tmp_path, work)


def test_what_is_offered_does_what_it_says(tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        await editor.open(STEP)
        (ignore,) = [a for a in await editor.actions(5) if a.title == "Ignore JM101 on this line"]
        silent = editor.applied(ignore)
        assert silent == STEP.replace('"bacth")', '"bacth")  # jaxmigrate: ignore[JM101]')
        (mend,) = [a for a in await editor.actions(5) if a.title == "Fix: write 'batch'"]
        assert (mend.kind, mend.is_preferred) == (lsp.CodeActionKind.QuickFix, True)
        assert [diagnostic.code for diagnostic in mend.diagnostics or ()] == ["JM101"]
        assert editor.applied(mend) == STEP.replace("bacth", "batch")
        assert [a.title for a in await editor.actions(5, only=["refactor"])] == []
        (fix,) = await editor.actions(7)
        migrated = editor.applied(fix)
        ast.parse(migrated)
        assert "jax.shard_map(" in migrated
        assert "pmap" not in migrated
        (everywhere,) = await editor.actions(0, only=["source.fixAll"])
        assert editor.applied(everywhere) == migrated
        assert await editor.actions(0) == []
        editor.change(silent)
        assert await editor.told() == []

    edited(tmp_path, work)


def test_a_map_that_fix_leaves_says_why(tmp_path: Path) -> None:
    async def work(editor: Editor) -> None:
        (left,) = await editor.open("import jax\nf = jax.pmap(abs, in_axes=-1)\n")
        assert (left.code, left.severity) == ("JM402", lsp.DiagnosticSeverity.Information)
        assert await editor.actions(1) == []

    edited(tmp_path, work)


def test_the_project_has_its_say(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.jaxmigrate]\nignore = ["JM101"]\n')
    (tmp_path / "names.py").write_text('AXIS = "batch"\n')
    text = STEP.replace('axis_name="batch"', "axis_name=names.AXIS").replace(
        "import jax\n", "import jax\nimport names\n"
    )

    async def work(editor: Editor) -> Any:
        return codes(await editor.open(text))

    assert edited(tmp_path, work) == [None]
    (tmp_path / "pyproject.toml").write_text("[tool.jaxmigrate]\nignore = 3\n")

    async def broken(editor: Editor) -> Any:
        (told,) = await editor.open(text)
        return told.message

    assert "ignore" in edited(tmp_path, broken)


def test_findings_depend_on_files_that_use_it_saved_or_not(tmp_path: Path) -> None:
    """On what maps its functions: a module of the project, through another one, and a notebook."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    (folder / "between.py").write_text("from train import step\n")
    main = "import jax\nfrom between import step\n\nf = jax.pmap(step, axis_name='batch')\n"
    (folder / "main.py").write_text(main)
    (folder / "unrelated.py").write_text("import jax\ng = jax.pmap(abs, axis_name='bacth')\n")
    text = 'from jax import lax\n\n\ndef step(x):\n    return lax.psum(x, "bacth")\n'

    async def work(editor: Editor) -> None:
        (found,) = await editor.open(text)
        assert (found.code, found.range.start.line) == ("JM101", 4)
        (note,) = found.related_information or ()
        assert (note.location.uri, note.location.range.start.line) == ((folder / "main.py").as_uri(), 3)
        editor.change(text.replace("bacth", "batch"))
        assert await editor.told() == []

        uri = (folder / "main.py").as_uri()
        other = lsp.TextDocumentItem(uri, "python", 1, main.replace("batch", "b"))  # not saved
        editor.client.text_document_did_open(lsp.DidOpenTextDocumentParams(other))
        assert [d.severity for d in await editor.told_of(uri)] == [lsp.DiagnosticSeverity.Hint]
        editor.client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
        assert codes(await editor.told_of(editor.uri)) == ["JM101"]
        editor.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))

        (folder / "main.py").unlink()
        cells: list[Any] = [
            {"cell_type": "code", "source": main, "outputs": [], "metadata": {}, "execution_count": None}
        ]
        kernel = {"language_info": {"name": "python"}}
        book = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
        (folder / "main.ipynb").write_text(json.dumps(book))
        editor.client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(editor.uri)))
        assert await editor.told_of(editor.uri) == []
        editor.change(text)
        assert codes(await editor.told_of(editor.uri)) == ["JM101"]

    edited(folder, work)


def test_notebooks_by_their_cells_or_as_files(tmp_path: Path) -> None:
    path = tmp_path / "train.ipynb"
    cells = ["# Training", "%matplotlib inline\nimport jax", STEP.removeprefix("import jax\n"), "f(x)"]
    kinds = [lsp.NotebookCellKind.Markup] + 3 * [lsp.NotebookCellKind.Code]
    uris = [f"vscode-notebook-cell:{path}#{number}" for number in range(len(cells))]

    async def work(editor: Editor) -> None:
        book = lsp.NotebookDocument(
            path.as_uri(),
            "jupyter-notebook",
            1,
            [lsp.NotebookCell(kind, uri) for kind, uri in zip(kinds, uris, strict=True)],
        )
        languages = ["markdown", "python", "python", "python"]
        texts = [lsp.TextDocumentItem(u, k, 1, c) for u, k, c in zip(uris, languages, cells, strict=True)]
        editor.client.notebook_document_did_open(lsp.DidOpenNotebookDocumentParams(book, texts))
        assert await editor.told_of(uris[1]) == []
        wrong, hint = await editor.told_of(uris[2])
        assert (wrong.code, wrong.range.start.line, hint.range.start.line) == ("JM101", 4, 6)
        assert (await editor.hover(uris[2], 4, wrong.range.start.character)).startswith("# JM101")
        assert await editor.told_of(uris[3]) == []

        editor.uri, editor.text = uris[2], cells[2]
        (ignore,) = [a for a in await editor.actions(4) if a.title == "Ignore JM101 on this line"]
        silent = cells[2].replace('"bacth")', '"bacth")  # jaxmigrate: ignore[JM101]')
        assert editor.applied(ignore) == silent
        (mend,) = [a for a in await editor.actions(4) if a.title == "Fix: write 'batch'"]
        assert editor.applied(mend) == cells[2].replace("bacth", "batch")
        (fix,) = await editor.actions(6)
        assert "jax.shard_map(" in editor.applied(fix)

        mended = lsp.TextDocumentContentChangeWholeDocument(cells[2].replace("bacth", "batch"))
        change = lsp.NotebookDocumentCellContentChanges(lsp.VersionedTextDocumentIdentifier(2, uris[2]), [mended])
        event = lsp.NotebookDocumentChangeEvent(cells=lsp.NotebookDocumentCellChanges(text_content=[change]))
        identifier = lsp.VersionedNotebookDocumentIdentifier(2, path.as_uri())
        editor.client.notebook_document_did_change(lsp.DidChangeNotebookDocumentParams(identifier, event))
        assert await editor.told_of(uris[2]) == []

        editor.uri = path.as_uri()
        code = [{"cell_type": "code", "source": cell.splitlines(keepends=True), "metadata": {}} for cell in cells[1:]]
        text = json.dumps({"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
        editor.client.notebook_document_did_close(
            lsp.DidCloseNotebookDocumentParams(
                lsp.NotebookDocumentIdentifier(path.as_uri()), [lsp.TextDocumentIdentifier(uri) for uri in uris]
            )
        )
        item = lsp.TextDocumentItem(editor.uri, "json", 1, text)
        editor.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        (found,) = await editor.told_of(editor.uri)
        assert (found.code, "bacth" in text.splitlines()[found.range.start.line]) == ("JM101", True)

    edited(tmp_path, work)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('return lax.psum(x, "bacth")  # why', 'return lax.psum(x, "bacth")  # why  # jaxmigrate: ignore[JM101]'),
        ('return lax.psum(x, "bacth")  # jaxmigrate: ignore[JM2]', "# jaxmigrate: ignore[JM2, JM101]"),
        ('return lax.psum(x,\\\n "bacth")', '\\\n "bacth")  # jaxmigrate: ignore[JM101]'),
        ('return lax.psum("""\n"""+x, "bacth")', '"bacth")  # jaxmigrate: ignore[JM101]'),
        ('return lax.psum(x, "bacth") + """\n"""', None),
    ],
)
def test_where_a_comment_can_stand(line: str, expected: str | None) -> None:
    document = Document(Path("/nowhere/a.py"), STEP.replace('return "🎉", lax.psum(x, "bacth")', line))
    (finding,), _ = problems(document)
    change = ignored(document, finding, lambda other: problems(other)[0])
    if expected is None:
        assert change is None
    else:
        assert change is not None
        lines = document.text.splitlines(keepends=True)
        lines[change.first : change.end] = [change.text]
        assert expected in "".join(lines)
        assert problems(Document(document.path, "".join(lines)))[0] == []


def test_changes_make_one_text_of_the_other() -> None:
    for before, after in [("a\nb\nc", "a\nc"), ("", "x\n"), ("a\n", ""), ("a\r\nb\r\n", "a\r\nB\r\nc\r\n")]:
        lines = before.splitlines(keepends=True)
        for change in reversed(list(changes(before, after))):
            lines[change.first : change.end] = [change.text]
        assert "".join(lines) == after


def test_without_pygls_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server, "find_spec", lambda _name: None)
    assert main(["server"]) == 2
    assert "pip install 'jaxmigrate[server]'" in capsys.readouterr().err
