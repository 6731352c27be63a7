"""What holds code among other things, and is read as one module: a notebook, or a file of documentation."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class CellStart(NamedTuple):
    """A cell in a joined text: the line of its header, and the line after which statements can be put, both from 1."""

    header: int
    body: int


class Located(NamedTuple):
    """A place in a cell of a notebook, and the line of its file; zeros where there is none."""

    cell: int
    line: int
    column: int
    file_line: int


class Container(Protocol):
    """What tells places in a file from places in the one module that its code is read as."""

    @property
    def has_cells(self) -> bool:
        """Whether its code stands in cells that are counted."""
        ...

    @property
    def skipped(self) -> str:
        """Why nothing is done about it, empty where something is."""
        ...

    def located(self, line: int, column: int) -> Located:
        """Where a place of the module lies in the file."""
        ...

    def line(self, cell: int, line: int, /) -> str:
        """A line as the file shows it."""
        ...

    def in_words(self, message: str) -> str:
        """A message with the lines of the module that it names told as places in the file."""
        ...

    def encode(self, text: str) -> bytes:
        """The file's bytes with the module changed to a new text."""
        ...
