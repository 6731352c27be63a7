"""How a file is written: its indentation, quotes, line ending and width, for code that looks like the rest of it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from jaxmigrate.codemod.style import Style
from jaxmigrate.migrate.import_style import combines_as
from jaxmigrate.migrate.widths import line_width
from jaxmigrate.program.modules import Module

__all__ = ["Style", "newline_of", "style_of"]

_known: WeakKeyDictionary[Module, Style] = WeakKeyDictionary()
FEW = 2  # brackets that show how a file is broken into lines
DEEPEST = 8  # characters of an indentation of lines in brackets that new code takes over
# Comments, strings in three quotes and, as `quote`, what other strings begin with
_STRING = re.compile(
    r"""#[^\r\n]*"""
    r'''|"""[^\\"]*(?:(?:\\.|"(?!""))[^\\"]*)*"""'''
    r"""|'''[^\\']*(?:(?:\\.|'(?!''))[^\\']*)*'''"""
    r"""|(?P<quote>['"])(?:\\(?:\r\n|.)|(?!(?P=quote))[^\\\r\n])*(?P=quote)""",
    re.DOTALL,
)
_LINE_END = re.compile(r"\r\n|\r|\n")


def style_of(module: Module) -> Style:
    """The style of a module, looked for once."""
    if module not in _known:
        hangs, hanging = _hangs(module)
        _known[module] = Style(
            _indent(module),
            _quote(module),
            newline_of(module.text),
            line_width(module),
            combines_as(module),
            hangs or _fills(module),
            hangs,
            hanging,
        )
    return _known[module]


def newline_of(text: str) -> str:
    """The line ending used most."""
    endings = Counter(_LINE_END.findall(text))
    return endings.most_common(1)[0][0] if endings else "\n"


def _indent(module: Module) -> str:
    """The unit by which most function, class and compound statement bodies are indented."""
    lines = _LINE_END.split(module.text)
    units: Counter[str] = Counter()
    for node in module.nodes:
        body = getattr(node, "body", None)
        if isinstance(node, ast.stmt) and isinstance(body, list) and body and body[0].lineno > node.lineno:
            outer, inner = _leading(lines, node.lineno), _leading(lines, body[0].lineno)
            if inner.startswith(outer) and inner != outer:
                units[inner[len(outer) :]] += 1
    return units.most_common(1)[0][0] if units else "    "


def _leading(lines: list[str], number: int) -> str:
    line = lines[number - 1]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _quote(module: Module) -> str:
    """The quote that most single-quoted string literals use."""
    counts = Counter(match["quote"] for match in _STRING.finditer(module.text))
    return "'" if counts["'"] > counts['"'] else '"'


def _fills(module: Module) -> bool:
    """Whether brackets on several lines have lines with more than one element, which no formatter like Black leaves.

    Where twice as many have a line for each, these show how the file is written.
    """
    found = exploded = 0
    for node in module.nodes:
        lines = [element.lineno for element in _elements(node)]
        found += 1 < len(set(lines)) < len(lines)
        exploded += 1 < len(set(lines)) == len(lines)
    return found >= FEW and 2 * found >= exploded


def _hangs(module: Module) -> tuple[bool, str]:
    """Whether most calls on several lines end on the line of their last argument, and how these are indented."""
    behind = below = 0
    indents: Counter[str] = Counter()
    for call in module.table.calls:
        elements = _elements(call)
        opening = call.func.end_lineno or call.lineno
        if not elements or max(e.end_lineno or e.lineno for e in elements) == opening:
            continue
        ends = max(e.end_lineno or e.lineno for e in elements) == call.end_lineno
        first = min(elements, key=lambda e: (e.lineno, e.col_offset))
        if first.lineno == opening:
            behind += ends
            continue
        behind, below = behind + ends, below + (not ends)
        indents[_leading(module.lines, first.lineno)[len(_leading(module.lines, opening)) :]] += 1
    indent, count = indents.most_common(1)[0] if indents else ("", 0)
    if not count and _indent(module) == "  ":
        indent, count = "    ", FEW  # as what goes with blocks of two says: Google's style, and Pyink
    is_usual = count >= FEW and len(indent) <= DEEPEST and not indent.strip(" ")
    return behind >= FEW and behind > below, indent if is_usual else ""


def _elements(node: ast.AST) -> Sequence[ast.expr | ast.arg | ast.keyword]:
    """What stands between the commas of a call, a display or the parameters of a function."""
    match node:
        case ast.Call(args=args, keywords=keywords):
            return [*args, *keywords]
        case ast.List(elts=elements) | ast.Set(elts=elements) | ast.Tuple(elts=elements):
            return elements
        case ast.Dict(keys=keys):
            return [key for key in keys if key is not None]
        case ast.arguments(posonlyargs=first, args=args, kwonlyargs=named):
            return [*first, *args, *named]
    return ()
