"""A rewrite as a unified diff that `git apply` and `patch -p1` take, byte for byte."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from jaxmigrate.sources import SourceFile, shown_path, source_lines
from jaxmigrate.sources.line_diff import Opcode, grouped
from jaxmigrate.sources.notebooks import Notebook
from jaxmigrate.terminal import BOLD, CYAN, GREEN, RED, paint, printable

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_STYLES = {"+++": BOLD, "---": BOLD, "@@ ": CYAN, "+": GREEN, "-": RED}


def unified_diff(name: str, before: bytes, after: bytes) -> bytes:
    """The diff between two versions of a file, empty where they are equal."""
    path = _relative(name)
    old, new = (_header(side, path) for side in ("a", "b"))
    lines = _lines(_LINE.findall(before), _LINE.findall(after), old, new)
    return b"".join(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in lines)


def diff_of(source: SourceFile, after: str) -> bytes:
    """The diff between a file and what it becomes with a new text: of a notebook, a diff for each cell that changes."""
    if source.notebook is None or not isinstance(source.notebook, Notebook):
        return unified_diff(source.name, source.raw, source.encode(after))
    return b"".join(
        _cell_diff(shown_path(_relative(source.name), cell), old, new)
        for cell, old, new in source.notebook.sources(after)
        if old != new
    )


def part_of_diff(source: SourceFile, after: str, lines: Collection[int]) -> bytes:
    """The hunks of a file's diff that touch some of its lines as they were; all of them where none does."""
    before, now = _LINE.findall(source.raw), _LINE.findall(source.encode(after))
    path = _header("a", _relative(source.name)), _header("b", _relative(source.name))
    groups = list(grouped(before, now))
    touching = [group for group in groups if any(group[0][1] < line <= group[-1][2] for line in lines)]
    return b"".join(_lines_of(touching or groups, before, now, *path))


def _cell_diff(name: str, before: str, after: str) -> bytes:
    """A diff of two sources of a cell; whether their last lines are ended says nothing in a notebook."""
    old, new = ([f"{line}\n".encode("utf-8", "replace") for line in source_lines(text)] for text in (before, after))
    header = name.encode("utf-8", "replace")
    return b"".join(_lines(old, new, header, header))


def _lines(before: list[bytes], after: list[bytes], old: bytes, new: bytes) -> Iterator[bytes]:
    """The lines of a unified diff."""
    return _lines_of(grouped(before, after), before, after, old, new)


def _lines_of(
    groups: Iterable[Sequence[Opcode]], before: list[bytes], after: list[bytes], old: bytes, new: bytes
) -> Iterator[bytes]:
    for number, group in enumerate(groups):
        if not number:
            yield b"--- " + old + b"\n"
            yield b"+++ " + new + b"\n"
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n".encode()
        for kind, i, j, k, m in group:
            if kind == "equal":
                yield from (b" " + line for line in before[i:j])
                continue
            yield from (b"-" + line for line in before[i:j])
            yield from (b"+" + line for line in after[k:m])


def _range(start: int, stop: int) -> str:
    """Lines as a unified diff counts them."""
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def shown_diff(diff: bytes, encoding: str, colour: bool) -> str:
    """A diff for a person's eyes: harmless characters only, coloured where wanted."""
    return "".join(f"{_shown(line, colour)}\n" for line in diff.decode(encoding, "replace").split("\n")[:-1])


def _shown(line: str, colour: bool) -> str:
    style = _STYLES.get(line[:3]) or _STYLES.get(line[:1], "")
    return paint(printable(line.removesuffix("\r")), style, on=colour and bool(style))


def _header(side: str, path: str) -> bytes:
    """A name with a space in it ends in a tab, by which patch tells it from a time stamp."""
    return os.fsencode(f"{side}/{path}" + ("\t" if " " in path else ""))


def _relative(name: str) -> str:
    path = Path(name)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return path.as_posix().lstrip("/")
