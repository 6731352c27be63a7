"""What is offered to change in a document: what `fix` would make of it, and what mends or silences a finding."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from jaxmigrate.commands import Failure
from jaxmigrate.commands.server.document import Document
from jaxmigrate.config import find_config
from jaxmigrate.findings import Finding
from jaxmigrate.findings.fixes import Fix
from jaxmigrate.findings.suppressions import MARK
from jaxmigrate.migrate.plan import SitePlan
from jaxmigrate.requirements import project_of, target_jax
from jaxmigrate.sources import SourceError
from jaxmigrate.sources.notebooks import Notebook


class Change(NamedTuple):
    """Lines `first` to `end` (from 0, `end` left out) are to become `text`, with its line endings; in a cell, or 0."""

    first: int
    end: int
    text: str
    cell: int = 0


class Rewrite(NamedTuple):
    """What `fix` would make of a document: the changes, and the sites of maps, rewritten and left."""

    changes: tuple[Change, ...]
    sites: tuple[SitePlan, ...]


def rewrite(document: Document) -> Rewrite:
    """What `fix --layout stacked` makes of a document; nothing where it does not parse.

    Raises:
        SourceError: It is no notebook although its name ends so.
    """
    from jaxmigrate.commands.planning import plan_files
    from jaxmigrate.migrate.options import PlanOptions

    config = find_config(document.path)
    target = target_jax(config, project_of(config, [document.path]))
    planned, _ = plan_files([document.source], PlanOptions("stacked", target, declared=config.declared))
    if not planned:
        return Rewrite((), ())
    return Rewrite(_to(document, planned[0].plan.after), planned[0].sites)


def mended(document: Document, fix: Fix) -> tuple[Change, ...]:
    """What `lint --fix` makes of a document for one finding; nothing where the fix is for another file, or fails.

    Raises:
        SourceError: It is no notebook although its name ends so.
    """
    from jaxmigrate.commands.mending import applied

    if not fix.edits or fix.path != document.name:
        return ()
    try:
        return _to(document, applied(document.source, [fix])[0])
    except Failure:
        return ()


def _to(document: Document, after: str) -> tuple[Change, ...]:
    """What makes a document's code, which is that of all cells of a notebook, another one."""
    notebook = document.source.notebook
    if not isinstance(notebook, Notebook):
        return tuple(changes(document.text, after))
    of_cells = (changes(one, other, number) for number, one, other in notebook.sources(after) if one != other)
    return tuple(change for found in of_cells for change in found)


def changes(before: str, after: str, cell: int = 0) -> Iterator[Change]:
    """The lines in which two texts differ."""
    one, other = before.splitlines(keepends=True), after.splitlines(keepends=True)
    for kind, first, end, new, new_end in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind != "equal":
            yield Change(first, end, "".join(other[new:new_end]), cell)


def ignored(document: Document, finding: Finding, found_in: Callable[[Document], list[Finding]]) -> Change | None:
    """A comment that silences a finding, on its first line or on its last; None where neither can hold one.

    `found_in` says what is found in the document once it has the comment.
    """
    part = document.part(finding.cell)
    if part is None:
        return None
    lines = part.splitlines(keepends=True)
    for number in dict.fromkeys((finding.line, finding.end_line or finding.line)):
        if number > len(lines):
            continue
        changed = _marked(lines[number - 1], finding.code)
        text = "".join([*lines[: number - 1], changed, *lines[number:]])
        other = document.with_part(finding.cell, text)
        if _parse_alike(document, other) and _key(finding) not in map(_key, found_in(other)):
            return Change(number - 1, number, changed, finding.cell)
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


def _parse_alike(before: Document, after: Document) -> bool:
    """Whether nothing but comments differs: a comment after a backslash, or in a string, would be no comment."""
    try:
        return ast.dump(ast.parse(before.source.text)) == ast.dump(ast.parse(after.source.text))
    except (SyntaxError, SourceError):
        return False


def _key(finding: Finding) -> tuple[object, ...]:
    return finding.code, finding.cell, finding.line, finding.column
