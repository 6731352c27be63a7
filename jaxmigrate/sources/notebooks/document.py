"""A notebook's JSON as far as it holds code: which cells, and between which characters of the file each source stands.

The JSON module reads values but does not say where they stood, so that the way to the sources is walked once more, with
its own decoder for each value on the way.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from jaxmigrate.sources.conflicts import unresolved

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class DocumentError(Exception):
    """What keeps a file from being read as a notebook, with a line and a column from 1, or zeros."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


class CodeCell(NamedTuple):
    """A code cell.

    Attributes:
        number: Its number among all cells, those with text included, from 1.
        source: Its code.
        executed: The number that the kernel gave it when it last ran, None where it did not.
        may_fail: Whether its author has tagged it as raising an exception.
    """

    number: int
    source: str
    executed: int | None
    may_fail: bool


class Span(NamedTuple):
    """Where the source of a cell stands in the file's text.

    Attributes:
        start: The offset at which the JSON value of `source` begins.
        end: The offset behind that value.
        items: The offsets of the strings in it, one where it is a string itself.
    """

    start: int
    end: int
    items: tuple[tuple[int, int], ...]


class Document(NamedTuple):
    """The code cells of a notebook, in order, and the language of its kernel in lower case, empty where unsaid."""

    cells: tuple[CodeCell, ...]
    language: str


def read_document(text: str) -> Document:
    """Reads the JSON of a notebook of nbformat 4.

    Raises:
        DocumentError: It is no JSON, no notebook, or one of an older or newer format.
    """
    try:
        content = content_of(text)
    except json.JSONDecodeError as error:
        why = unresolved(text, error.lineno) or error.msg
        message = "is empty, not a notebook" if not text.strip() else f"is not JSON: {why}"
        raise DocumentError(message, error.lineno, error.colno) from None
    except RecursionError:
        raise DocumentError("is nested too deeply for a notebook") from None
    _check(content)
    language = _language(content.get("metadata"))
    return Document(tuple(_code_cells(content["cells"], language)), language)


@lru_cache(maxsize=1)
def content_of(text: str) -> Any:
    """What the JSON of a notebook holds, read once for a look at it and for whatever follows; not to be changed."""
    return json.loads(text)


def spans_of(text: str) -> dict[int, Span]:
    """Where the source of each code cell stands, by the cell's number, in the text of a notebook that has been read."""
    found: dict[int, Span] = {}

    def past_member(key: str, at: int) -> int:
        if key != "cells":
            return _past_value(text, at)
        found.clear()
        numbers = itertools.count(1)
        return _past_elements(text, at, lambda cell: _past_cell(text, cell, next(numbers), found))

    _past_members(text, _past_space(text, 0), past_member)
    return found


def _check(content: Any) -> None:
    if not isinstance(content, dict):
        raise DocumentError("is JSON but not a notebook: it holds no object")
    version = content.get("nbformat")
    if isinstance(version, int) and version != 4:
        advice = "; convert it with `jupyter nbconvert --to notebook --nbformat 4`" if version < 4 else ""
        raise DocumentError(f"is a notebook of nbformat {version}, and only nbformat 4 is read{advice}")
    if not isinstance(content.get("cells"), list):
        raise DocumentError("is JSON but not a notebook: it has no list of cells")


def _language(metadata: Any) -> str:
    """What the kernel runs: what it said itself the last time, else what its specification says."""
    for part, key in (("language_info", "name"), ("kernelspec", "language")):
        said = metadata.get(part) if isinstance(metadata, dict) else None
        if isinstance(said, dict) and isinstance(said.get(key), str) and said[key]:
            language: str = said[key]
            return language.lower()
    return ""


def _code_cells(cells: list[Any], language: str) -> Iterator[CodeCell]:
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict) or not isinstance(cell.get("cell_type"), str):
            raise DocumentError(f"cell {number} is not a cell: it has no cell_type")
        if cell["cell_type"] == "code" and _is_of(language, cell.get("metadata")):
            yield _code_cell(number, cell)


def _is_of(language: str, metadata: Any) -> bool:
    """Whether a cell is in the notebook's language: editors keep cells of others in the same notebook."""
    said = metadata.get("vscode") if isinstance(metadata, dict) else None
    other = said.get("languageId") if isinstance(said, dict) else None
    return not isinstance(other, str) or other.lower() in ("python", language)


def _code_cell(number: int, cell: dict[str, Any]) -> CodeCell:
    source = cell.get("source")
    lines = [source] if isinstance(source, str) else source
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise DocumentError(f"cell {number} has no source that is text")
    count = cell.get("execution_count")
    executed = count if isinstance(count, int) else None
    return CodeCell(number, "".join(lines), executed, _may_fail(cell.get("metadata")))


def _may_fail(metadata: Any) -> bool:
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    return isinstance(tags, list) and "raises-exception" in tags


def _past_cell(text: str, cell: int, number: int, found: dict[int, Span]) -> int:
    """Notes where the source stands of a code cell that begins at an offset: nowhere where it has none."""
    span, kind = Span(cell, cell, ()), ""

    def past_member(key: str, at: int) -> int:
        nonlocal span, kind
        if key == "source":
            span = _span_of(text, at)
            return span.end
        if key != "cell_type":
            return _past_value(text, at)
        kind, at = _DECODER.raw_decode(text, at)
        return at

    end = _past_members(text, cell, past_member)
    if kind == "code":
        found[number] = span
    return end


def _span_of(text: str, start: int) -> Span:
    """Where a source stands that begins at an offset: a string, or a list of some."""
    if text[start] != "[":
        end = _past_value(text, start)
        return Span(start, end, ((start, end),))
    items: list[tuple[int, int]] = []

    def past_item(at: int) -> int:
        items.append((at, _past_value(text, at)))
        return items[-1][1]

    return Span(start, _past_elements(text, start, past_item), tuple(items))


# The walks below take it that the text is valid JSON, as it was read before; each value on the way is read once


def _past_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found is not None else at


def _past_value(text: str, at: int) -> int:
    return _DECODER.raw_decode(text, at)[1]


def _past_members(text: str, at: int, past: Callable[[str, int], int]) -> int:
    """Goes through the object that begins at an offset; `past` tells where the value of a key ends."""
    at = _past_space(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _past_space(text, past(key, _past_space(text, _past_space(text, at) + 1)))
        if text[at] == ",":
            at = _past_space(text, at + 1)
    return at + 1


def _past_elements(text: str, at: int, past: Callable[[int], int]) -> int:
    """Goes through the list that begins at an offset; `past` tells where an element ends."""
    at = _past_space(text, at + 1)
    while text[at] != "]":
        at = _past_space(text, past(at))
        if text[at] == ",":
            at = _past_space(text, at + 1)
    return at + 1
