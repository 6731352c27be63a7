"""Form feeds before statements, which LibCST drops: they are put back where the line below them is still there."""

from __future__ import annotations

import ast
import difflib


def with_form_feeds(before: str, after: str) -> str:
    """A rewritten text with the form feeds that lines of it began with, if that changes nothing of what it says."""
    old, new = before.split("\n"), after.split("\n")
    plain = [_plain(line) for line in old]
    for kind, start, end, at, stop in difflib.SequenceMatcher(None, plain, new, autojunk=False).get_opcodes():
        if kind == "equal":
            new[at : at + end - start] = old[start:end]
        elif kind == "replace" and end - start == stop - at:
            new[at:stop] = [_led(*pair) for pair in zip(old[start:end], new[at:stop], strict=True)]
    found = "\n".join(new)
    return found if ast.dump(ast.parse(found)) == ast.dump(ast.parse(after)) else after


def _led(old: str, new: str) -> str:
    """A line that has changed with the form feeds of the old one before it."""
    body = new.lstrip(" \t\f")
    blank = old[: len(old) - len(old.lstrip(" \t\f"))]
    return blank + body if blank.replace("\f", "") + body == new else new


def _plain(line: str) -> str:
    """A line as LibCST has it."""
    body = line.lstrip(" \t\f")
    return line[: len(line) - len(body)].replace("\f", "") + body if body.strip() and not body.startswith("#") else line
