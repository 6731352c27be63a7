"""`# jaxmigrate: ignore[CODE]` comments, by which a line's author takes the responsibility for it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from jaxmigrate.findings import Finding
from jaxmigrate.sources import SourceFile, source_lines

MARK = re.compile(r"#\s*jaxmigrate:\s*ignore(?:\s*\[([^\]]*)\]|(?![-\w]|\s*\[))")


class Mark(NamedTuple):
    """A comment that asks for silence on its line, about rules whose codes begin so; "" is every rule.

    `cell` is that of a notebook in which the line is counted.
    """

    line: int
    codes: tuple[str, ...]
    cell: int = 0


class Unused(NamedTuple):
    """A code in a comment that silenced nothing."""

    path: str
    cell: int
    line: int
    code: str


class Silenced(NamedTuple):
    """The findings that remain, and for each file's comments the codes that silenced nothing, line by line."""

    findings: list[Finding]
    unused: list[Unused]


def silence(findings: Iterable[Finding], marked: Mapping[str, Sequence[Mark]]) -> Silenced:
    """Leaves out the findings that a comment on their first or last line asks to be quiet about.

    A comment without codes is about every rule, one with codes about those rules or, for `JM2`, their group.
    """
    asked = {name: {(mark.cell, mark.line): mark.codes for mark in found} for name, found in marked.items()}
    used: set[Unused] = set()
    kept: list[Finding] = []
    for finding in findings:
        lines = asked.get(finding.path, {})
        silencing = {
            Unused(finding.path, finding.cell, line, code)
            for line in (finding.line, finding.end_line)
            for code in lines.get((finding.cell, line), ())
            if finding.code.startswith(code)
        }
        used |= silencing
        if not silencing:
            kept.append(finding)
    given = [
        Unused(name, *place, code) for name, lines in asked.items() for place, codes in lines.items() for code in codes
    ]
    return Silenced(kept, [one for one in given if one not in used])


def marks_of(source: SourceFile) -> tuple[Mark, ...]:
    """Every such comment in a file."""
    found = marks(source.text)
    if source.notebook is None:
        return found
    places = ((mark, source.notebook.located(mark.line, 0)) for mark in found)
    return tuple(Mark(place.line, mark.codes, place.cell) for mark, place in places)


def marks(text: str) -> tuple[Mark, ...]:
    """Every such comment in a text."""
    if "jaxmigrate:" not in text:
        return ()
    found: list[Mark] = []
    for line, comment in _comments(text):
        if mark := MARK.search(comment):
            found.append(Mark(line, ("",) if mark[1] is None else tuple(re.findall(r"[^\s,]+", mark[1]))))
    return tuple(found)


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Real comments, told from text in strings by Python's tokenizer, as far as it gets."""
    import tokenize

    lines = io.StringIO("".join(f"{line}\n" for line in source_lines(text)), newline="")
    try:
        for token in tokenize.generate_tokens(lines.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    except (tokenize.TokenError, SyntaxError):
        return
