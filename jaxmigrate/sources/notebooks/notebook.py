"""A notebook as a source file: its code as one module, and its bytes with that module's edits in their cells."""

from __future__ import annotations

import codecs
import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from jaxmigrate.records import record
from jaxmigrate.sources.containers import Located
from jaxmigrate.sources.decoding import SourceError, SourceFile
from jaxmigrate.sources.notebooks.document import Document, DocumentError, Span, content_of, read_document, spans_of
from jaxmigrate.sources.notebooks.joining import Joined, TornError, join
from jaxmigrate.sources.notebooks.splicing import spliced

_PYTHON = ("", "python", "python2", "python3", "ipython", "ipython2", "ipython3", "sage")


@record
class Notebook:
    """What a notebook's file holds.

    Attributes:
        name: The file as the user named it.
        json: Its text.
        document: Its code cells, of whatever language.
        joined: Those in Python as one module, none where the kernel runs another language.
        bom: Whether a byte order mark precedes the text.
    """

    name: str
    json: str
    document: Document
    joined: Joined
    bom: bool

    has_cells = True

    @property
    def skipped(self) -> str:
        """Why nothing is done about the notebook, empty where something is."""
        if self.document.language in _PYTHON:
            return ""
        return f"skipped: its kernel's language is {self.document.language}, not Python"

    @property
    def ran_in_order(self) -> bool:
        """Whether nothing in the file says that its cells last ran in another order than they stand in."""
        return self.joined.in_order

    @property
    def unrun(self) -> list[tuple[int, str]]:
        """The lines that nothing but IPython runs, with the numbers of their cells."""
        return [(cell.number, line) for cell in self.joined.cells for _, line in cell.masked.unrun]

    @property
    def may_fail(self) -> set[int]:
        """The cells whose authors say that they raise an exception, by the tag that Jupyter knows."""
        return {cell.number for cell in self.document.cells if cell.may_fail}

    def passed_over(self, word: str) -> list[int]:
        """The cells of which nothing is Python and which hold a word: they are left as they are."""
        return [cell.number for cell in self.joined.cells if cell.masked.opaque and word in cell.source]

    def located(self, line: int, column: int) -> Located:
        """The place in a cell, and the line of the file that holds it, of a place in the module."""
        place = self.joined.place(line, column) if line else None
        if place is None or not place.cell:
            return Located(0, 0, 0, 0)
        return Located(place.cell, place.line, place.column, self._file_line(place.cell, place.line))

    def line(self, cell: int, line: int) -> str:
        """A line of a cell as it stands in the notebook."""
        return self.joined.line_of(cell, line)

    def in_words(self, message: str) -> str:
        """A message that names lines of the module with those of cells instead."""
        return self.joined.located(message)

    def sources(self, text: str) -> list[tuple[int, str, str]]:
        """The number of each cell, its source, and its source once the module has the text given.

        Raises:
            SourceError: The module was edited in a way that cells do not allow.
        """
        try:
            new = self.joined.sources_of(text)
        except TornError as error:
            raise self._torn(error) from None
        return [(cell.number, cell.source, after) for cell, after in zip(self.joined.cells, new, strict=True)]

    def encode(self, text: str) -> bytes:
        """The file's bytes once the module has the text given.

        Raises:
            SourceError: As `sources`.
        """
        changes = [(self._spans[number], after) for number, before, after in self.sources(text) if before != after]
        return (codecs.BOM_UTF8 if self.bom else b"") + spliced(self.json, changes).encode("utf-8")

    def _torn(self, error: TornError) -> SourceError:
        return SourceError(self.name, error.message, cell=error.cell)

    @cached_property
    def _line_ends(self) -> list[int]:
        return [end.start() for end in re.finditer("\n", self.json)]

    @cached_property
    def _spans(self) -> dict[int, Span]:
        """Where the sources stand in the file, which takes more walks through it, and which few notebooks are asked."""
        return spans_of(self.json)

    def _file_line(self, number: int, line: int) -> int:
        """The line of the file in which a line of a cell stands; that of the cell where all stand in one."""
        span = self._spans[number]
        starts = [start for start, _ in span.items] or [span.start]
        return bisect_right(self._line_ends, starts[min(line, len(starts)) - 1]) + 1


def read_notebook(raw: bytes, name: str, path: Path | None = None) -> SourceFile:
    """Reads a notebook's bytes as a source file whose text is its cells as one module.

    Raises:
        SourceError: It is no notebook of nbformat 4.
    """
    bom = raw.startswith(codecs.BOM_UTF8)
    try:
        text = raw.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise SourceError(
            name, f"byte 0x{error.object[error.start]:02x} is not utf-8, which notebooks are", line
        ) from None
    try:
        document = read_document(text)
        joined = join(_python(document), _ran_in_order(document))
    except DocumentError as error:
        raise SourceError(name, error.message, error.line, error.column) from None
    except TornError as error:
        raise SourceError(name, error.message, cell=error.cell) from None
    notebook = Notebook(name, text, document, joined, bom)
    return SourceFile(name, path, raw, joined.text, "utf-8", bom, notebook)


def python_in(raw: bytes) -> str | None:
    """The code of a notebook's cells, one after another; None where it takes a closer look."""
    try:
        content = _content_of(raw)
        cells = [cell["source"] for cell in content["cells"] if cell["cell_type"] == "code"]
        language = content["metadata"]["language_info"]["name"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if content.get("nbformat") != 4 or language not in _PYTHON or not all(isinstance(c, str | list) for c in cells):
        return None
    return "\n".join(cell if isinstance(cell, str) else "".join(map(str, cell)) for cell in cells)


def _content_of(raw: bytes) -> Any:
    """What the JSON holds, remembered for `read_notebook`; in other encodings than its own, too."""
    try:
        return content_of(raw.removeprefix(codecs.BOM_UTF8).decode("utf-8"))
    except ValueError:
        return json.loads(raw)


def _ran_in_order(document: Document) -> bool:
    counts = [cell.executed for cell in document.cells if cell.executed is not None and cell.source.strip()]
    return counts == sorted(counts)


def _python(document: Document) -> Sequence[tuple[int, str]]:
    if document.language not in _PYTHON:
        return []
    return [(cell.number, cell.source) for cell in document.cells]
