"""What would mend a finding, as plain data: typed operations on nodes that are named by their place in the file.

A rule decides on one, it travels in the cache, in JSON and to the editor, and `lint --fix` has the engine of `fix`
apply it. Only what has one right answer has a fix.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxmigrate.sources.containers import Container


class Span(NamedTuple):
    """Where a node stands: lines and columns from 1, in characters, the end left out; `kind` is its class in `ast`.

    In a notebook the lines are counted in the cell, from 1 among all its cells; `cell` is 0 elsewhere.
    """

    kind: str
    line: int
    column: int
    end_line: int
    end_column: int
    cell: int = 0

    def to_json(self) -> dict[str, Any]:
        """The place as plain JSON types, the cell only in notebooks."""
        plain = self._asdict()
        return plain if self.cell else {key: value for key, value in plain.items() if key != "cell"}


class Edit(NamedTuple):
    """One operation on one node.

    Attributes:
        operation: `replace` puts `code` in the place of an expression; `set-keyword` gives a call the argument `name`;
            `drop-statement` takes a statement out, with the comments that are about it alone; `decorate` puts the lines
            of `code` in the place of the decorator `$itself` of a function; `import` adds the import `code` above the
            node, unless the file has it.
        at: The node.
        code: New source, in which `$x` stands for the part `x`, and `$itself` for the node that is replaced.
        name: The keyword.
        parts: What of the file stays in `code`.
    """

    operation: str
    at: Span
    code: str = ""
    name: str = ""
    parts: tuple[tuple[str, Span], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The edit as plain JSON types, without what it does not have."""
        plain: dict[str, Any] = {"operation": self.operation, **self.at.to_json()}
        plain |= {key: text for key, text in (("code", self.code), ("name", self.name)) if text}
        return plain | ({"parts": {name: part.to_json() for name, part in self.parts}} if self.parts else {})


class Fix(NamedTuple):
    """What to change in one file; without edits it is no fix.

    `title` says it in a few words, without a full stop.
    """

    title: str
    path: str
    edits: tuple[Edit, ...]

    def to_json(self) -> dict[str, Any]:
        """The fix as plain JSON types."""
        return {"title": self.title, "path": self.path, "edits": [edit.to_json() for edit in self.edits]}


NO_FIX = Fix("", "", ())


def fix_in_cells(fix: Fix, container: Container) -> Fix:
    """The fix with its places told as those of a notebook's cells."""
    return fix._replace(edits=tuple(_edit_in_cell(edit, container) for edit in fix.edits))


def _edit_in_cell(edit: Edit, container: Container) -> Edit:
    parts = tuple((name, span_in_cell(part, container)) for name, part in edit.parts)
    return edit._replace(at=span_in_cell(edit.at, container), parts=parts)


def span_in_cell(span: Span, container: Container) -> Span:
    """A place of the module that a notebook is read as, told as one in a cell."""
    start, end = container.located(span.line, span.column), container.located(span.end_line, span.end_column)
    return Span(span.kind, start.line, start.column, end.line, end.column, start.cell)


def fix_from_json(plain: Mapping[str, Any] | None) -> Fix:
    """The fix that `to_json` gave this for."""
    if plain is None:
        return NO_FIX
    return Fix(plain["title"], plain["path"], tuple(map(_edit_from_json, plain["edits"])))


def _edit_from_json(plain: Mapping[str, Any]) -> Edit:
    parts = tuple((name, _span_from_json(part)) for name, part in plain.get("parts", {}).items())
    return Edit(plain["operation"], _span_from_json(plain), plain.get("code", ""), plain.get("name", ""), parts)


def _span_from_json(plain: Mapping[str, Any]) -> Span:
    return Span(**{key: plain[key] for key in Span._fields if key in plain})
