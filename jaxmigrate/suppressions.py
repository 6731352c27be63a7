"""`# jaxmigrate: ignore[CODE]` comments, by which a line's author takes the responsibility for it."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping

from jaxmigrate.findings import Finding
from jaxmigrate.sources import SourceFile, source_lines

_MARK = re.compile(r"#\s*jaxmigrate:\s*ignore(?:\s*\[([^\]]*)\]|(?![-\w]|\s*\[))")


def unsuppressed(findings: Iterable[Finding], sources: Mapping[str, SourceFile]) -> list[Finding]:
    """The findings that no comment on their first or last line asks to be quiet about.

    A comment without codes is about every rule, one with codes about those rules or, for `JM2`, their group.
    """
    marks = {name: suppressed_lines(source.text) for name, source in sources.items()}
    return [finding for finding in findings if not _is_suppressed(finding, marks.get(finding.path, {}))]


def suppressed_lines(text: str) -> dict[int, tuple[str, ...]]:
    """For each line that has such a comment, the beginnings of the codes that it names."""
    if "jaxmigrate:" not in text:
        return {}
    found: dict[int, tuple[str, ...]] = {}
    for line, comment in _comments(text):
        if mark := _MARK.search(comment):
            found[line] = ("",) if mark[1] is None else tuple(re.findall(r"[^\s,]+", mark[1]))
    return found


def _is_suppressed(finding: Finding, marks: Mapping[int, tuple[str, ...]]) -> bool:
    codes = marks.get(finding.line, ()) + marks.get(finding.end_line, ())
    return any(finding.code.startswith(code) for code in codes)


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Real comments, told from text in strings by Python's tokenizer, as far as it gets."""
    lines = io.StringIO("".join(f"{line}\n" for line in source_lines(text)), newline="")
    try:
        for token in tokenize.generate_tokens(lines.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    except (tokenize.TokenError, SyntaxError):
        return
