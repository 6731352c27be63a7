"""What comments beside a map say of pmap, which it no longer is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeVar, cast

import libcst as cst

from jaxmigrate.codemod.layout import source
from jaxmigrate.program.operations import Code, Enclose, Marked, Operation, Redecorate, ReplaceStatement

_Body = TypeVar("_Body", cst.BaseSuite, cst.IndentedBlock, cst.Module)
BESIDE = r"(?![\w/]|\.\w|-\w|\()"
SAID = re.compile(rf"(?<![\w./\-])(jax\.)?([Pp]map(?:ped|ed|-ed|-sharded|'d|'ed)|[Pp]map){BESIDE}")
FORMS = re.compile(  # what pmap is no more, anywhere, and its call in prose
    rf"(?<![\w./\-])()([Pp]map(?:ped|ed|-ed|-sharded|'d|'ed|ping)){BESIDE}|(?<=`)()(pmap)(?=\(\.\.\.)"
)
QUOTED = re.compile(r"\"([Pp]map[\w-]+)\"|`(pmap\(\.\.\.[^`]*)`")  # one word, and no code
CODE = re.compile(r"[`=\"]|https?:|\bimport\b")
NO_WORDS = re.compile(r"[`=]|https?:|\bimport\b|>>>")  # lines of a docstring that hold code
READS_DOCS = re.compile(r"__doc__|\bgetdoc\b|\bdocopt\b|\bfire\.Fire\b|\btyper\b|\bclick\b")  # what says them to others
PMAPS = re.compile(r"\bpmap\b")
FIRST, ENDS = '    """', '"""'  # around the first line of a docstring
RESHAPED = re.compile(r"\breshap\w+ .*\(.*device", re.IGNORECASE)  # `(local_devices, batch, ...)`
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


def reworded(node: cst.SimpleStatementLine | cst.BaseCompoundStatement, *, docstring: bool = True) -> cst.CSTNode:
    """A statement that holds a map, whose comments above it and behind it say so; of a function, those in it too.

    `docstring`: its docstring as well.
    """
    if isinstance(node, cst.FunctionDef):
        body = (_docstring(node.body) if docstring else node.body).visit(_Comments())
        node = node if body is node.body else node.with_changes(body=body)
    lines = [_line(line) for line in node.leading_lines]
    if any(new is not old for new, old in zip(lines, node.leading_lines, strict=True)):
        node = node.with_changes(leading_lines=lines)
    behind = node.trailing_whitespace if isinstance(node, cst.SimpleStatementLine) else None
    if behind is not None and behind.comment is not None and (text := _said(behind.comment.value)):
        node = node.with_changes(trailing_whitespace=behind.with_changes(comment=cst.Comment(text)))
    return node


def reworded_head(function: cst.FunctionDef, width: int, *, docstring: bool) -> cst.FunctionDef:
    """A function that makes maps, and calls no pmap any more, whose docstring and comments above it say so.

    They stay where some word of them has to, or a line would be wider than `width` characters.
    """
    statements = function.body.body[function.get_docstring() is not None :]
    if any(PMAPS.search(line.partition("#")[0]) for one in statements for line in source(one).splitlines()):
        return function
    lines = [_line(line) for line in function.leading_lines]
    body = _docstring(function.body) if docstring else function.body
    found = function.with_changes(leading_lines=lines, body=body)
    text = function.get_docstring(clean=False)
    new = found.get_docstring(clean=False)
    said = isinstance(text, str) and isinstance(new, str) and text != new
    if said and (PMAPS.search(str(new)) or any(len(line) > width for line in _new_lines(str(text), str(new)))):
        found = found.with_changes(body=function.body)
    return found


def _new_lines(old: str, new: str) -> Iterator[str]:
    """The lines of a docstring that are others now, the first with what stands before it on its line."""
    before, after = old.split("\n"), new.split("\n")
    ends = ENDS if len(after) == 1 else ""
    for number, (was, line) in enumerate(zip(before, after, strict=True)):
        if was != line:
            yield line if number else f"{FIRST}{line}{ends}"


def without_shapes(before: cst.CSTNode, after: cst.CSTNode) -> cst.CSTNode:
    """A statement that reshapes no longer, without the comments above it that say to what it did."""
    if not isinstance(after, cst.SimpleStatementLine) or not isinstance(before, cst.SimpleStatementLine):
        return after
    lines = after.leading_lines
    first = len(lines)
    while first and lines[first - 1].comment is not None:
        first -= 1
    text = " ".join(line.comment.value.lstrip("# ") for line in lines[first:] if line.comment is not None)
    if not RESHAPED.search(text) or "reshape" not in _code(before) or "reshape" in _code(after):
        return after
    return after.with_changes(leading_lines=lines[:first])


def _code(node: cst.SimpleStatementLine) -> str:
    return source(node.with_changes(leading_lines=()))


def reworded_text(text: str) -> str:
    """A text without maps of pmap's, whose comments and docstrings call nothing pmapped."""
    if not FORMS.search(text):
        return text
    tree = cst.parse_module(text)
    if tree.code != text:
        return text  # with something that LibCST drops
    return tree.visit(_Forms(docstrings=READS_DOCS.search(text) is None)).code


class _Comments(cst.CSTTransformer):
    """Comments in the words of shard_map."""

    def leave_Comment(self, original_node: cst.Comment, updated_node: cst.Comment) -> cst.Comment:
        text = _said(original_node.value)
        return updated_node.with_changes(value=text) if text else updated_node


class _Forms(cst.CSTTransformer):
    """Comments and docstrings in which what was pmapped is sharded."""

    def __init__(self, *, docstrings: bool) -> None:
        super().__init__()
        self._docstrings = docstrings

    def leave_Comment(self, original_node: cst.Comment, updated_node: cst.Comment) -> cst.Comment:
        text = _said(original_node.value, FORMS)
        return updated_node.with_changes(value=text) if text else updated_node

    def leave_IndentedBlock(self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock) -> cst.BaseSuite:
        del original_node
        return _docstring(updated_node, FORMS) if self._docstrings else updated_node

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        del original_node
        return _docstring(updated_node, FORMS) if self._docstrings else updated_node


def _docstring(body: _Body, words: re.Pattern[str] = SAID) -> _Body:
    """A body, of a function say, whose docstring says what maps it."""
    first = next(iter(body.body), None)
    said = first.body[0] if isinstance(first, cst.SimpleStatementLine) else None
    if not isinstance(said, cst.Expr) or not isinstance(said.value, cst.SimpleString):
        return body
    lines = said.value.value.split("\n")
    new = "\n".join(line if NO_WORDS.search(line) else "".join(_words(line, words)) for line in lines)
    stays = new == said.value.value or (words is FORMS and PMAPS.search(new) is not None)
    changed = body if stays else body.deep_replace(said.value, cst.SimpleString(new))
    return cast("_Body", changed)


def _line(line: cst.EmptyLine) -> cst.EmptyLine:
    text = _said(line.comment.value) if line.comment is not None else ""
    return line.with_changes(comment=cst.Comment(text)) if text else line


def _said(comment: str, words: re.Pattern[str] = SAID) -> str:
    """A comment in the words of shard_map; empty where it says nothing of pmap, or is code that was put out."""
    if NO_PROSE.match(comment) or CODE.search(QUOTED.sub("", comment)) or not words.search(comment):
        return ""
    text = "".join(_words(comment, words))
    return "" if words is FORMS and PMAPS.search(text) else text


def _words(comment: str, words: re.Pattern[str]) -> Iterator[str]:
    last = 0
    for found in words.finditer(comment):
        yield comment[last : found.start()]
        word = next(one for one in found.groups()[1::2] if one)
        form = "harding" if word.endswith("ing") else "harded"
        yield f"{found[1] or ''}shard_map" if word.lower() == "pmap" else ("S" if word[0] == "P" else "s") + form
        last = found.end()
    yield comment[last:]
