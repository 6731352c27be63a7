"""What comments beside a map say of pmap, which it no longer is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from jaxmigrate.program.operations import Code, Enclose, Marked, Operation, Redecorate, ReplaceStatement

BESIDE = r"(?![\w/]|\.\w|-\w|\()"
SAID = re.compile(rf"(?<![\w./\-])(jax\.)?(pmap(?:ped|ed|-ed|'d)|pmap){BESIDE}")
CODE = re.compile(r"[`=\"]|https?:|\bimport\b")
NO_PROSE = re.compile(  # comments that tell a tool something, ask for work, or hold no words
    r"#\s*(%%|@|jaxmigrate|pylint|pyright|mypy|pytype|noqa|type:|fmt:|yapf|isort|ruff|flake8|pragma|TODO|FIXME|\W*$)",
    re.IGNORECASE,
)


def maps(operation: Operation) -> bool:
    """Whether a statement becomes one that holds a map."""
    match operation:
        case ReplaceStatement():
            codes = [operation.code]
        case Enclose():
            codes = [operation.code, *operation.decorators]
        case Redecorate():
            codes = [*operation.decorators]
        case _:
            codes = []
    return any(map(is_map, codes))


def is_map(code: Code) -> bool:
    """Whether new code holds the map of a site."""
    return any(isinstance(part, Marked) or (isinstance(part, Code) and is_map(part)) for part in code.parts.values())


def reworded(node: cst.SimpleStatementLine | cst.BaseCompoundStatement) -> cst.CSTNode:
    """A statement that holds a map, whose comments above it and behind it say so."""
    lines = [_line(line) for line in node.leading_lines]
    if any(new is not old for new, old in zip(lines, node.leading_lines, strict=True)):
        node = node.with_changes(leading_lines=lines)
    behind = node.trailing_whitespace if isinstance(node, cst.SimpleStatementLine) else None
    if behind is not None and behind.comment is not None and (text := _said(behind.comment.value)):
        node = node.with_changes(trailing_whitespace=behind.with_changes(comment=cst.Comment(text)))
    return node


def _line(line: cst.EmptyLine) -> cst.EmptyLine:
    text = _said(line.comment.value) if line.comment is not None else ""
    return line.with_changes(comment=cst.Comment(text)) if text else line


def _said(comment: str) -> str:
    """A comment in the words of shard_map; empty where it says nothing of pmap, or is code that was put out."""
    if NO_PROSE.match(comment) or CODE.search(comment) or not SAID.search(comment):
        return ""
    return "".join(_words(comment))


def _words(comment: str) -> Iterator[str]:
    last = 0
    for found in SAID.finditer(comment):
        yield comment[last : found.start()]
        yield f"{found[1] or ''}shard_map" if found[2] == "pmap" else "sharded"
        last = found.end()
    yield comment[last:]
