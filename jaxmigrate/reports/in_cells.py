"""What readers of files that know nothing of notebooks are told: the place in the cell, in words."""

from __future__ import annotations

from typing import Protocol


class Placed(Protocol):
    """Whatever has a place."""

    @property
    def cell(self) -> int: ...  # noqa: D102

    @property
    def line(self) -> int: ...  # noqa: D102

    @property
    def column(self) -> int: ...  # noqa: D102


def in_cell(message: str, placed: Placed) -> str:
    """The message, behind the cell, line and column that it is about where that is a cell: `cell 3:1:5: ...`."""
    if not placed.cell:
        return message
    place = ":".join(str(number) for number in (placed.cell, placed.line, placed.column) if number)
    return f"cell {place}: {message}"
