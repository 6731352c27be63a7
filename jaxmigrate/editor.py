"""What an editor shows of one document while it is written, and what it offers to change. Knows no protocol.

The document is taken as the editor has it, saved or not; what it imports is read from the disk. One document is not the
whole program, so that the rewrite that is offered is the one that leaves every caller as it is (`--layout stacked`).
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from jaxmigrate.config import find_config
from jaxmigrate.findings import Finding
from jaxmigrate.lint_run.examine import examine_text
from jaxmigrate.migrate.plan import SitePlan
from jaxmigrate.sources import SourceError, SourceFile
from jaxmigrate.suppressions import MARK, silence


@dataclass(frozen=True)
class Document:
    """A Python file as the editor has it."""

    path: Path
    text: str

    @property
    def source(self) -> SourceFile:
        """The document as the rest of the program takes files."""
        return SourceFile(self.path.as_posix(), self.path, self.text.encode(), self.text, "utf-8", False)


class Change(NamedTuple):
    """Lines `first` to `end` (from 0, `end` left out) are to become `text`, with its line endings."""

    first: int
    end: int
    text: str


class Rewrite(NamedTuple):
    """What `fix` would make of a document: the changes, and the sites of maps, rewritten and left."""

    changes: tuple[Change, ...]
    sites: tuple[SitePlan, ...]


def problems(document: Document) -> tuple[list[Finding], list[SourceError]]:
    """What lint finds in a document and its project wants to know, and where the document does not parse."""
    examined = examine_text(document.source)
    config = find_config(document.path)
    name = document.path.as_posix()
    kept = silence([f for f in examined.findings if f.path == name], examined.marks).findings
    return [f for f in kept if config.reports(f.code, document.path)], list(examined.errors)


def rewrite(document: Document) -> Rewrite:
    """What `fix --layout stacked` makes of a document; nothing where it does not parse."""
    from jaxmigrate.commands.planning import plan_files

    planned, _ = plan_files([document.source], layout="stacked", target=find_config(document.path).target_jax)
    if not planned:
        return Rewrite((), ())
    return Rewrite(tuple(changes(document.text, planned[0].plan.after)), planned[0].sites)


def changes(before: str, after: str) -> Iterator[Change]:
    """The lines in which two texts differ."""
    one, other = before.splitlines(keepends=True), after.splitlines(keepends=True)
    for kind, first, end, new, new_end in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind != "equal":
            yield Change(first, end, "".join(other[new:new_end]))


def ignored(document: Document, finding: Finding) -> Change | None:
    """A comment that silences a finding, on its first line or on its last; None where neither can hold one."""
    lines = document.text.splitlines(keepends=True)
    for number in dict.fromkeys((finding.line, finding.end_line or finding.line)):
        if number > len(lines):
            continue
        changed = _marked(lines[number - 1], finding.code)
        text = "".join([*lines[: number - 1], changed, *lines[number:]])
        if _parses_alike(document.text, text) and not _is_told(Document(document.path, text), finding):
            return Change(number - 1, number, changed)
    return None


def _marked(line: str, code: str) -> str:
    """A line with a code added to its comment, or with a comment."""
    content = line.rstrip("\r\n")
    ending = line[len(content) :]
    mark = MARK.search(content)
    if mark is None or mark[1] is None:
        return f"{content.rstrip()}  # jaxmigrate: ignore[{code}]{ending}"
    codes = ", ".join([*filter(None, (part.strip() for part in mark[1].split(","))), code])
    return f"{content[: mark.start(1)]}{codes}{content[mark.end(1) :]}{ending}"


def _parses_alike(before: str, after: str) -> bool:
    """Whether nothing but comments differs: a comment after a backslash, or in a string, would be no comment."""
    try:
        return ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))
    except SyntaxError:
        return False


def _is_told(document: Document, finding: Finding) -> bool:
    found, _ = problems(document)
    return any((f.code, f.line, f.column) == (finding.code, finding.line, finding.column) for f in found)
