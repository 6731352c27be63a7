"""New sources put into the JSON of a notebook in the place of old ones, written as the old ones were.

Lines that stay keep the very characters that stood for them in the JSON; new lines are written with the escapes that
the rest of the file uses.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence

from jaxmigrate.sources.notebooks.document import Span

_CHARACTERS = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL)
_ESCAPED = re.compile(r"\\u(?!00[0-7])[0-9a-fA-F]{4}")
_BETWEEN = re.compile(r'"(,[ \t\r\n]*)"')


def spliced(text: str, changes: Sequence[tuple[Span, str]]) -> str:
    """The text of a notebook with new sources for some of its cells, which are in their order."""
    parts: list[str] = []
    done = 0
    for cell, source in changes:
        parts += [text[done : cell.start], _value(text, cell, source)]
        done = cell.end
    return "".join([*parts, text[done:]])


def _value(text: str, cell: Span, source: str) -> str:
    """The JSON of a new source: a list of lines where the old one was, else a string."""
    raws = [text[start + 1 : end - 1] for start, end in cell.items]
    is_list = text[cell.start] == "["
    old = raws if is_list else [line for raw in raws for line in _lines(raw)]
    new = _raw_lines(old, _split(source, old if is_list else ()), _writes_ascii(text))
    if not is_list:
        return f'"{"".join(new)}"'
    if not new:
        return "[]"
    opening, between, closing = _layout(text, cell)
    strings = between.join(f'"{line}"' for line in new)
    return f"[{opening}{strings}{closing}]"


def _lines(raw: str) -> list[str]:
    """The inside of a JSON string as the lines that it stands for, each with its ending."""
    lines: list[str] = []
    current = ""
    for character in _CHARACTERS.findall(raw):
        current += character
        if character in ("\\n", "\\u000a", "\\u000A"):
            lines.append(current)
            current = ""
    return [*lines, current] if current else lines


def _split(source: str, raws: Sequence[str]) -> list[str]:
    """A source as lines: broken at line feeds, and also at what else Unicode calls the end of a line if `raws` are."""
    breaks = [json.loads(f'"{raw}"')[-1:] for raw in raws]
    if any(end in ("\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029") for end in breaks):
        return source.splitlines(keepends=True)
    return re.findall(r"[^\n]*\n|[^\n]+", source)


def _raw_lines(old: Sequence[str], new: Sequence[str], ascii_only: bool) -> list[str]:
    """New lines as the insides of JSON strings, those that are among the old ones exactly as these."""
    values = [json.loads(f'"{line}"') for line in old]
    found: list[str] = []
    matcher = difflib.SequenceMatcher(None, values, new, autojunk=False)
    for kind, start, stop, first, last in matcher.get_opcodes():
        if kind == "equal":
            found += old[start:stop]
        else:
            found += [json.dumps(line, ensure_ascii=ascii_only)[1:-1] for line in new[first:last]]
    return found


def _writes_ascii(text: str) -> bool:
    """Whether a file writes characters beyond ASCII by their numbers."""
    return text.isascii() and (_ESCAPED.search(text) is not None)


def _layout(text: str, cell: Span) -> tuple[str, str, str]:
    """What stands before, between and after the strings of a cell's list."""
    if not cell.items:
        return "", ", ", ""
    opening = text[cell.start + 1 : cell.items[0][0]]
    closing = text[cell.items[-1][1] : cell.end - 1]
    if len(cell.items) > 1:
        return opening, text[cell.items[0][1] : cell.items[1][0]], closing
    if "\n" in opening:
        return opening, f",{opening}", closing
    other = _BETWEEN.search(text)
    return opening, other[1] if other and "\n" not in other[1] else ", ", closing
