"""What a rule found: plain data, so that every rule can make it and every output format can print it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxmigrate.findings.fixes import NO_FIX, Fix, fix_from_json
from jaxmigrate.records import record


class Note(NamedTuple):
    """A second place that explains a finding, such as the call through which an axis should have been bound.

    `line` and `column` count from 1, columns in characters, in a notebook within the cell.
    """

    path: str
    line: int
    column: int
    message: str
    cell: int = 0
    file_line: int = 0

    def to_json(self) -> dict[str, Any]:
        """The note as plain JSON types; the cell and the file's line only in notebooks."""
        plain = {"path": self.path, "line": self.line, "column": self.column, "message": self.message}
        return plain | ({"cell": self.cell, "file_line": self.file_line} if self.cell else {})


@record(order=True)
class Finding:
    """One thing to tell the user about one place in one file.

    Findings sort by path, then by position, then by code: the order in which they are printed.

    Attributes:
        path: The file, as the user named it, with forward slashes; `<stdin>` for standard input.
        line: First line, counted from 1.
        column: First column, in characters, counted from 1.
        code: A rule's code such as `JM101`.
        message: One sentence without a full stop at the end.
        end_line: Last line, counted from 1; 0 where only the start is known.
        end_column: The column after the last character, counted from 1; 0 where only the start is known.
        notes: Other places that explain this one, nearest first.
        cell: The cell of a notebook that the lines are counted in, from 1 among all its cells; 0 elsewhere.
        file_line: The line of the notebook's own file that holds the first line; 0 elsewhere.
        fix: What mends it, where there is one right answer.
    """

    path: str
    line: int
    column: int
    code: str
    message: str
    end_line: int = 0
    end_column: int = 0
    notes: tuple[Note, ...] = ()
    cell: int = 0
    file_line: int = 0
    fix: Fix = NO_FIX

    def to_json(self) -> dict[str, Any]:
        """The finding as plain JSON types, with every attribute under its own name.

        The cell and the file's line are there only in notebooks, the fix where there is one.
        """
        plain = {
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "code": self.code,
            "message": self.message,
            "end_line": self.end_line,
            "end_column": self.end_column,
            "notes": [note.to_json() for note in self.notes],
        }
        plain |= {"fix": self.fix.to_json()} if self.fix.edits else {}
        return plain | ({"cell": self.cell, "file_line": self.file_line} if self.cell else {})


def finding_from_json(plain: Mapping[str, Any]) -> Finding:
    """The finding that `to_json` gave this for."""
    notes, fix = tuple(Note(**note) for note in plain["notes"]), fix_from_json(plain.get("fix"))
    return Finding(**{**plain, "notes": notes, "fix": fix})
