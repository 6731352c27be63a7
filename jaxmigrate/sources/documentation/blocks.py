"""Where the Python in a file of documentation stands: which lines, and what precedes the code in each."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

SUFFIXES = (".md", ".markdown", ".rst", ".py")

_FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)$")
_INFO = re.compile(
    r"^\{?\.?(?:python3?|py3?|pycon|code-cell\}?[ \t]*(?:ipython3?|python3?)?|code-block\}[ \t]*python)\b",
    re.IGNORECASE,
)
_DIRECTIVE = re.compile(
    r"^(?P<indent>[ \t]*)\.\.[ \t]+(?:(?:code-block|code|sourcecode)::[ \t]*(?:python3?|py3?|pycon|ipython3?)"
    r"|(?:testcode|testsetup|jupyter-execute)::.*)[ \t]*$",
    re.IGNORECASE,
)
_OPTION = re.compile(r"^[ \t]*:[\w-]+:")
_IMPORT = re.compile(r"^(?:from|import)\s", re.MULTILINE)
_PROMPT = re.compile(r"^(?P<indent>[ \t]*)>>>(?: (?P<code>.*)|$)")
_MORE = re.compile(r"^(?P<indent>[ \t]*)\.\.\.(?: (?P<code>.*)|$)")


class Line(NamedTuple):
    """A line of code: the number of its line in the file from 0, what stands before the code, and the code."""

    number: int
    prefix: str
    code: str


class Block(NamedTuple):
    """Lines of code that belong together.

    Attributes:
        lines: The code.
        prompts: Whether they are a doctest, in which every expression is shown.
        quote: The quotes of the docstring that holds them, empty elsewhere.
        group: What tells blocks that share their names from others in the file.
    """

    lines: tuple[Line, ...]
    prompts: bool
    quote: str = ""
    group: int = 0

    @property
    def source(self) -> str:
        """The code, each line ended."""
        return "".join(f"{line.code}\n" for line in self.lines)


def find_blocks(lines: Sequence[str], suffix: str) -> list[Block]:
    """The blocks of Python in the lines, without endings, of a file with an ending that tells its kind.

    Doctests that import what they use are for a tool that runs them by themselves; others go on with the code around.
    """
    if suffix == ".py":
        return [
            block._replace(group=number)
            for number, block in enumerate(_in_docstrings(lines))
            if any(line.code.strip() for line in block.lines)
        ]
    found = _in_restructured_text(lines) if suffix == ".rst" else _in_markdown(lines)
    blocks = [block for block in found if any(line.code.strip() for line in block.lines)]
    apart = any(block.prompts and _IMPORT.search(block.source) for block in blocks)
    return [block._replace(group=int(apart and block.prompts)) for block in blocks]


def _in_markdown(lines: Sequence[str]) -> Iterator[Block]:
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        at += 1
        if fence is None:
            continue
        closing = re.compile(rf"^[ \t]*{re.escape(fence['fence'][0])}{{{len(fence['fence'])},}}[ \t]*$")
        end = next((n for n in range(at, len(lines)) if closing.match(lines[n])), len(lines))
        if _INFO.match(fence["info"]):
            yield _block(lines, at, end, fence["info"].startswith("{"))
        at = end + 1


def _in_restructured_text(lines: Sequence[str]) -> Iterator[Block]:
    at = 0
    while at < len(lines):
        directive = _DIRECTIVE.match(lines[at])
        if directive is not None:
            end = _end_of_indented(lines, at + 1, directive["indent"])
            yield _block(lines, at + 1, end, True)
            at = end
        elif _PROMPT.match(lines[at]):
            end = next((n for n in range(at, len(lines)) if not lines[n].strip()), len(lines))
            yield _doctest(lines, at, end)
            at = end
        else:
            at += 1


def _end_of_indented(lines: Sequence[str], at: int, indent: str) -> int:
    """The line after the last one that is indented more than `indent`."""
    end = at
    for n in range(at, len(lines)):
        if lines[n].strip():
            if not (lines[n].startswith(indent) and lines[n][len(indent) :][:1] in (" ", "\t")):
                break
            end = n + 1
    return end


def _block(lines: Sequence[str], start: int, end: int, has_options: bool) -> Block:
    """The block between two lines, without the options of a directive at its top."""
    while has_options and start < end and (_OPTION.match(lines[start]) or not lines[start].strip()):
        start += 1
    if any(_PROMPT.match(line) for line in lines[start:end]):
        return _doctest(lines, start, end)
    indents = [line[: len(line) - len(line.lstrip(" \t"))] for line in lines[start:end] if line.strip()]
    common = min(indents, key=len, default="")
    if not all(indent.startswith(common) for indent in indents):
        common = ""
    return Block(
        tuple(
            Line(n, common, lines[n][len(common) :]) if lines[n].strip() else Line(n, lines[n], "")
            for n in range(start, end)
        ),
        prompts=False,
    )


def _doctest(lines: Sequence[str], start: int, end: int, quote: str = "") -> Block:
    """The code behind prompts; what stands between is what it prints."""
    found: list[Line] = []
    inside = ""
    for n in range(start, end):
        prompt = _PROMPT.match(lines[n]) or (_MORE.match(lines[n]) if found and inside else None)
        inside = prompt[0] if prompt is not None else ""
        if prompt is not None:
            code = prompt["code"] or ""
            found.append(Line(n, lines[n][: len(lines[n]) - len(code)], code))
    return Block(tuple(found), prompts=True, quote=quote)


def _in_docstrings(lines: Sequence[str]) -> Iterator[Block]:
    """The doctests of a module, a block for each docstring; those whose code holds escapes are left alone."""
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(tree):
        if not isinstance(node, documented) or ast.get_docstring(node, clean=False) is None:
            continue
        expression = node.body[0]
        first, last = expression.lineno - 1, expression.end_lineno or expression.lineno
        opening = re.match(r"[ \t]*([rRuU]?)(\"\"\"|''')", lines[first])
        if opening is None or first == last - 1:
            continue
        block = _doctest(lines, first + 1, last, opening[2])
        if opening[1] in ("r", "R") or not any("\\" in line.code for line in block.lines):
            yield block
