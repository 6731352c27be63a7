"""A Python file or a notebook as the editor has it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jaxmigrate.sources import SourceFile, decode


@dataclass(frozen=True)
class Document:
    """A file, and its text.

    Attributes:
        path: Where it lies, or will.
        text: What the file would hold.
        cells: Of a notebook that the editor shows by cells: the Python in each, None for other ones.
    """

    path: Path
    text: str
    cells: tuple[str | None, ...] = ()

    @classmethod
    def of_cells(cls, path: Path, cells: Iterable[str | None]) -> Document:
        """A notebook of which only the cells are known."""
        found = tuple(cells)
        plain = [{"cell_type": "raw" if cell is None else "code", "source": cell or ""} for cell in found]
        return cls(path, json.dumps({"cells": plain, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}), found)

    @property
    def name(self) -> str:
        """What findings call it."""
        return self.path.as_posix()

    @cached_property
    def source(self) -> SourceFile:
        """The document as the rest of jaxmigrate takes files.

        Raises:
            SourceError: It is no notebook although its name ends so.
        """
        if self.path.suffix == ".ipynb":
            return decode(self.text.encode(), self.name, self.path)
        return SourceFile(self.name, self.path, self.text.encode(), self.text, "utf-8", False)

    def part(self, cell: int) -> str | None:
        """The text of a cell, or under 0 that of a document without cells; None where there is none."""
        if not self.cells:
            return None if cell else self.text
        return self.cells[cell - 1] if 0 < cell <= len(self.cells) else None

    def with_part(self, cell: int, text: str) -> Document:
        """The document with another text in that place."""
        if not self.cells:
            return Document(self.path, text)
        return Document.of_cells(self.path, (*self.cells[: cell - 1], text, *self.cells[cell:]))
