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
EVERY = re.compile(f"{SAID.pattern}|{FORMS.pattern}")  # in programs that hold no pmap any more
OF_PMAP_ALONE = re.compile(  # what holds of pmap, and may not of what stands there now
    r"leading|first (?:axis|dim)|reshap|in_axes|\bvs\b|instead|unlike|rather|faster|slower|deprecat|\bold\b|used to"
    r"|(?:from|as|like|than) (?:jax\.)?pmap|\bbug|issue|version|n[o']t\b|require|expect|stack|device axis"
    r"|per[- ]device|anyway|default|itself|(?:we|you|can|will|should|must) (?:jax\.)?pmap|pmap over",
    re.IGNORECASE,
)
QUOTED = re.compile(r"\"([Pp]map[\w-]+)\"|`(pmap\(\.\.\.[^`]*)`")  # one word, and no code
CODE = re.compile(r"[`=\"]|https?:|\bimport\b")
NO_WORDS = re.compile(r"[`=]|https?:|\bimport\b|>>>")  # lines of a docstring that hold code
OF_AXES = re.compile(r"\s+(?:ax[ie]s|dim)", re.IGNORECASE)  # are mapped, and no arrays
READS_DOCS = re.compile(r"__doc__|\bgetdoc\b|\bdocopt\b|\bfire\.Fire\b|\btyper\b|\bclick\b")  # what says them to others
ON_PAGE = re.compile(r"(?<![\w.\-])(jax\.)?pmap(?![\w(\-]|\.\w)")
EXPLAINS = re.compile(r"^#+ .*\bpmap\b|^.*\bpmap\b.*\n(?:===+|---+|~~~+)\s*$", re.MULTILINE)
NO_PAGE = re.compile(r"https?:\S*pmap|\bpmap\S*\(")  # lines with addresses or calls
PMAPS = re.compile(r"\bpmap\b")
FIRST, ENDS = '    """', '"""'  # around the first line of a docstring
RESHAPED = re.compile(  # `(local_devices, batch, ...)`; a comment of one line may say it without brackets
    r"\breshap\w+ .*[(\[].*device|^reshap[^.;]*devices?\]?[.:]?$", re.IGNORECASE
)
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
    return _reworded(text, FORMS)


def reworded_everywhere(text: str, width: int) -> str:
    """A text of a program without pmap, whose comments and docstrings say shard_map where lines have room for it."""
    lines, new = text.split("\n"), _reworded(text, EVERY).split("\n")
    pairs = zip(lines, new, strict=True)
    return "\n".join(b if len(b) <= max(width, len(a)) else a for a, b in pairs)


def reworded_prose(text: str) -> str:
    """A page in Markdown or reStructuredText that says shard_map where prose says pmap; its code stays.

    So does a page that explains what pmap is, under a heading of its own.
    """
    if EXPLAINS.search(text):
        return text
    lines, is_code = text.split("\n"), False
    for number, line in enumerate(lines):
        is_code ^= line.lstrip().startswith(("```", "~~~"))
        stays = is_code or line.startswith(("    ", "\t", ".. ")) or NO_PAGE.search(line) or OF_PMAP_ALONE.search(line)
        if not stays:
            lines[number] = ON_PAGE.sub(lambda found: f"{found[1] or ''}shard_map", line)
    return "\n".join(lines)


def _reworded(text: str, words: re.Pattern[str]) -> str:
    if not words.search(text):
        return text
    tree = cst.parse_module(text)
    if tree.code != text:
        return text  # with something that LibCST drops
    return tree.visit(_Forms(words, docstrings=READS_DOCS.search(text) is None)).code


class _Comments(cst.CSTTransformer):
    """Comments in the words of shard_map."""

    def leave_Comment(self, original_node: cst.Comment, updated_node: cst.Comment) -> cst.Comment:
        text = _said(original_node.value)
        return updated_node.with_changes(value=text) if text else updated_node


class _Forms(cst.CSTTransformer):
    """Comments and docstrings in which what was pmapped is sharded."""

    def __init__(self, words: re.Pattern[str], *, docstrings: bool) -> None:
        super().__init__()
        self._words = words
        self._docstrings = docstrings

    def leave_Comment(self, original_node: cst.Comment, updated_node: cst.Comment) -> cst.Comment:
        text = _said(original_node.value, self._words)
        return updated_node.with_changes(value=text) if text else updated_node

    def leave_IndentedBlock(self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock) -> cst.BaseSuite:
        del original_node
        return _docstring(updated_node, self._words) if self._docstrings else updated_node

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        del original_node
        return _docstring(updated_node, self._words) if self._docstrings else updated_node


def _docstring(body: _Body, words: re.Pattern[str] = SAID) -> _Body:
    """A body, of a function say, whose docstring says what maps it."""
    first = next(iter(body.body), None)
    said = first.body[0] if isinstance(first, cst.SimpleStatementLine) else None
    if not isinstance(said, cst.Expr) or not isinstance(said.value, cst.SimpleString):
        return body
    lines = said.value.value.split("\n")
    new = "\n".join(line if _stays(line, words) else "".join(_words(line, words)) for line in lines)
    stays = new == said.value.value or (words is not SAID and PMAPS.search(new) is not None)
    changed = body if stays else body.deep_replace(said.value, cst.SimpleString(new))
    return cast("_Body", changed)


def _stays(line: str, words: re.Pattern[str]) -> bool:
    """Whether a line of a docstring holds code, or says of pmap what may hold of nothing else."""
    return NO_WORDS.search(line) is not None or (words is EVERY and OF_PMAP_ALONE.search(line) is not None)


def _line(line: cst.EmptyLine) -> cst.EmptyLine:
    text = _said(line.comment.value) if line.comment is not None else ""
    return line.with_changes(comment=cst.Comment(text)) if text else line


def _said(comment: str, words: re.Pattern[str] = SAID) -> str:
    """A comment in the words of shard_map; empty where it says nothing of pmap, or is code that was put out."""
    if NO_PROSE.match(comment) or CODE.search(QUOTED.sub("", comment)) or not words.search(comment):
        return ""
    if words is EVERY and OF_PMAP_ALONE.search(comment):
        return ""
    text = "".join(_words(comment, words))
    return "" if words is not SAID and PMAPS.search(text) else text


def _words(comment: str, words: re.Pattern[str]) -> Iterator[str]:
    last = 0
    for found in words.finditer(comment):
        yield comment[last : found.start()]
        word = next(one for one in found.groups()[1::2] if one)
        form = "harding" if word.endswith("ing") else "harded"
        if OF_AXES.match(comment, found.end()) and found[1] is None and word.lower() != "pmap":
            yield f"{'M' if word[0] == 'P' else 'm'}apped"
            last = found.end()
            continue
        yield f"{found[1] or ''}shard_map" if word.lower() == "pmap" else ("S" if word[0] == "P" else "s") + form
        last = found.end()
    yield comment[last:]
