"""Rewrites a text in parts: a LibCST tree takes some hundred times the memory of its text, and as much time to build.

A part is the text with a string of as many lines in the place of the statements that it leaves out: each line keeps its
number, and operations find their nodes. The first part holds the imports and all that says where new statements go, but
not what stands between these, in functions too; the others hold statements in which only expressions change, which
nothing outside of them has a share in. What the parts become is put together by the strings, and where that cannot be
done without a doubt, the text is rewritten as a whole.
"""

from __future__ import annotations

import ast
import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import libcst as cst

from jaxmigrate.codemod.said import is_map
from jaxmigrate.program.operations import (
    Define,
    DropArgument,
    DropIndex,
    DropStatement,
    Enclose,
    First,
    Import,
    Mark,
    NameArgument,
    Operation,
    Replace,
    ReplaceStatement,
    SetKeyword,
    new_parts,
    texts_of,
)
from jaxmigrate.program.scopes import inner_statements

MOST = 250_000  # characters that a part holds, if its statements are shorter
OF_EXPRESSIONS = Replace | Mark | SetKeyword | NameArgument | DropArgument | DropIndex
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
LEFT_OUT = DEFINITIONS | ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Assert | ast.Delete
FEW_LINES = 3  # which are read sooner than a string is put in their place
NODES = ("node", "call", "subscript", "statement", "function")
_STANDS_FOR = "jaxmigrate leaves out what begins in line"


class _Span(NamedTuple):
    """The statements of a module that share lines: the first and the last of these, from 1."""

    first: int
    last: int
    statements: tuple[ast.stmt, ...]


class _Run(NamedTuple):
    """Lines that one string stands for, from 0, the last one excluded, and their indentation."""

    first: int
    last: int
    indent: str = ""


class _Unit(NamedTuple):
    """A statement that changes, alone on its lines: these, from 0, the last one excluded, and its indentation."""

    first: int
    last: int
    indent: str


def rewritten_in_parts(
    text: str,
    operations: Sequence[Operation],
    statements: Sequence[ast.stmt],
    rewrite: Callable[[str, Sequence[Operation]], str],
) -> str | None:
    """A text after all operations, `statements` being those of its module; None where it has to be done at once.

    `rewrite` applies operations to a text that LibCST can take.
    """
    if not statements or any(c in text for c in "\r\f") or _STANDS_FOR in text:
        return None
    try:
        return _Parts(text, operations, statements, rewrite).joined()
    except (cst.ParserSyntaxError, LookupError):
        return None  # a part that begins with `elif`, say, cannot stand by itself; what else is wrong, the whole says


class _Parts:
    """One text, and which of its statements go into which part."""

    def __init__(
        self,
        text: str,
        operations: Sequence[Operation],
        statements: Sequence[ast.stmt],
        rewrite: Callable[[str, Sequence[Operation]], str],
    ) -> None:
        self.lines = text.splitlines(keepends=True) if text.isascii() else _lines(text)
        self.spans = list(_spans(statements))
        self.firsts = [span.first for span in self.spans]
        self.rewrite = rewrite
        self.loose: dict[_Unit, list[Operation]] = {}
        self.others: list[Operation] = []
        kept = {*self._at_head(operations), *self._commented_below()}
        touched = [(op, {self._span_of(node) for node in _nodes(op)}) for op in operations]
        kept |= {one for op, own in touched if not _is_loose(op, own) or self._is_said_above(op, own) for one in own}
        for op, own in touched:
            alone = next(iter(own)) if _is_loose(op, own) else None
            if alone is None or alone in kept:
                self.others.append(op)
            else:
                self.loose.setdefault(self._unit_of(op, self.spans[alone]), []).append(op)
        starts = {self._span_of(node) for op in operations if isinstance(op, Import | Define) for node in op.uses}
        left_out = _runs([i for i in range(len(self.spans)) if i not in kept], starts)
        runs = [_Run(self.spans[first].first - 1, self.spans[last].last) for first, last in left_out]
        self.runs = sorted([*runs, *self._inner_runs(kept)])

    def joined(self) -> str | None:
        """The text after all parts were rewritten."""
        changed: dict[tuple[int, int], str] = {}
        starts = {run.first for run in self.runs}
        for part in _apart(_outermost(self.loose), self._size_of, starts):
            found = self._changed(part)
            if found is None:
                return None
            changed |= found
        pending = sorted(changed.items(), reverse=True)
        after = self.rewrite(self._head(), self.others)
        made: list[str] = []
        for first, last, indent in self.runs:
            before, string, after = after.partition(_string(first, last))
            if not string or before.rpartition("\n")[2] != indent:
                return None
            inside: list[str] = []
            while pending and pending[-1][0][0] < last:
                (start, end), text = pending.pop()
                inside += [*self.lines[first:start], text]
                first = end
            made += [before.removesuffix(indent), "".join([*inside, *self.lines[first:last]]).removesuffix("\n")]
        return "".join([*made, after])

    def _inner_runs(self, kept: Iterable[int]) -> Iterator[_Run]:
        """The statements in the blocks of some spans that no operation touches, where they are worth a string.

        The first of a block stays, which may be a docstring, and the second where new ones go before it.
        """
        touched = sorted(getattr(node, "lineno", 0) for op in self.others for node in _nodes(op))
        compared = "\n".join(op.text for op in self.others if isinstance(op, Define))
        whole = {op.statement for op in self.others if isinstance(op, ReplaceStatement | DropStatement)}
        whole |= {op.function for op in self.others if isinstance(op, Enclose)}
        begun = {op.function for op in self.others if isinstance(op, First)}
        waiting = [one for index in kept for one in self.spans[index].statements if not _is_seen(one, compared)]
        while waiting:
            one = waiting.pop()
            if one in whole:
                continue
            for block in _blocks(one):
                stay = 1 + (one in begun)
                units = [None if _holds(touched, inner) else self._left_out(inner) for inner in block[stay:]]
                yield from _runs_of(units)
                waiting += [*block[:stay], *itertools.compress(block[stay:], (unit is None for unit in units))]

    def _left_out(self, statement: ast.stmt) -> _Unit | None:
        """A statement as a unit, if all that its blocks hold ends on its last line: comments may stand below that."""
        unit = self._alone(statement)
        return None if unit is None or self._is_commented_below(statement, unit.indent) else unit

    def _commented_below(self) -> Iterator[int]:
        """The spans that go on below their last line."""
        yield from (i for i, span in enumerate(self.spans) if self._is_commented_below(span.statements[-1], ""))

    def _is_commented_below(self, statement: ast.stmt, indent: str) -> bool:
        """Whether comments below a statement belong to one of its blocks."""
        if not any(_blocks(statement)):
            return False
        below = itertools.takewhile(_says_nothing, self.lines[_last_line(statement) :])
        return any(line.strip() and line.startswith((f"{indent} ", f"{indent}\t")) for line in below)

    def _is_said_above(self, operation: Operation, own: Collection[int]) -> bool:
        """Whether what is written stands below comments that may have to say so."""
        if not isinstance(operation, Replace):
            return False
        first = min(self._unit_of(operation, self.spans[one]).first for one in own)
        above = itertools.takewhile(_says_nothing, reversed(self.lines[:first]))
        word = "pmap" if is_map(operation.code) else "reshap"
        return any(word in line.lower() for line in above)

    def _unit_of(self, operation: Operation, span: _Span) -> _Unit:
        """The innermost statement alone on its lines that holds all nodes of an operation."""
        found = _Unit(span.first - 1, span.last, "")
        lines = [getattr(node, "lineno", 0) for node in _nodes(operation)]
        level: Sequence[ast.AST] = span.statements
        while level:
            holding = [one for one in level if _first_line(one) <= min(lines) and max(lines) <= _last_line(one)]
            if len(holding) != 1:
                break
            unit = self._alone(holding[0])
            found = unit if unit is not None else found
            level = inner_statements(holding[0])
        return found

    def _alone(self, statement: ast.AST) -> _Unit | None:
        """A statement as a unit, if nothing else stands on its lines."""
        if not isinstance(statement, ast.stmt) or statement.end_lineno is None:
            return None
        first, last = _first_line(statement) - 1, statement.end_lineno
        line, end = self.lines[first], self.lines[last - 1].encode()[statement.end_col_offset or 0 :].strip()
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        starts = line[len(indent)] == "@" or len(indent) == statement.col_offset
        starts &= not (isinstance(statement, ast.If) and line.startswith("elif", len(indent)))
        return _Unit(first, last, indent) if starts and (not end or end.startswith(b"#")) else None

    def _size_of(self, unit: _Unit) -> int:
        return sum(map(len, self.lines[unit.first : unit.last]))

    def _changed(self, units: Sequence[_Unit]) -> dict[tuple[int, int], str] | None:
        """The new text of some units by their lines, those without a line between them together."""
        places = list(_joined(units))
        excerpt: list[str] = []
        end = 0
        for first, last, indent in places:
            excerpt.append(_above(end, first, indent))
            excerpt += self.lines[first:last]
            end = last
        below = _string(end, len(self.lines)) if end < len(self.lines) else ""
        inside = [op for unit, ops in self.loose.items() if _within(unit, units) for op in ops]
        after = self.rewrite("".join([*excerpt, below]), inside)
        found: dict[tuple[int, int], str] = {}
        end = 0
        for first, last, indent in places:
            before, string, after = after.partition(_above(end, first, indent))
            if not string or (found and not before) or (not found and before):
                return None
            if found:
                found[next(reversed(found))] = before
            found[first, last] = ""
            end = last
        text, string, after = after.partition(below) if below else (after, "", "")
        if after or (below and not string):
            return None
        found[next(reversed(found))] = text
        return found

    def _head(self) -> str:
        """The part that says where new statements go, with strings in the place of all else."""
        found: list[str] = []
        first = 0
        for start, end, indent in self.runs:
            found += [*self.lines[first:start], indent, _string(start, end)]
            found += ["\n"] if self.lines[end - 1].endswith("\n") else []
            first = end
        return "".join([*found, *self.lines[first:]])

    def _span_of(self, node: ast.AST) -> int:
        return max(0, bisect_right(self.firsts, getattr(node, "lineno", 0)) - 1)

    def _at_head(self, operations: Sequence[Operation]) -> Iterator[int]:
        """The spans by which new imports and definitions find their place, or find that they stand already."""
        yield 0
        defined = "\n".join(op.text for op in operations if isinstance(op, Define))
        definitions = [[one for one in span.statements if isinstance(one, DEFINITIONS)] for span in self.spans]
        yield from [i for i, found in enumerate(definitions) if found][:1]
        for index, span in enumerate(self.spans):
            stays = not all(isinstance(one, LEFT_OUT) for one in span.statements)
            if stays or any(f" {one.name}" in defined for one in definitions[index]):
                yield index


def _string(first: int, last: int) -> str:
    """What stands for lines, from 0, the last one excluded."""
    line_breaks = "\n" * (last - first - 1)
    return f'"""{_STANDS_FOR} {first + 1}{line_breaks}"""'


def _above(first: int, last: int, indent: str) -> str:
    """What stands for the lines above a statement: where it is indented, something that it can be the body of."""
    return f"if {_string(first, last)}:\n" if indent else f"{_string(first, last)}\n"


def _outermost(units: Iterable[_Unit]) -> list[_Unit]:
    """The units that are within no other one, in order."""
    found: list[_Unit] = []
    for unit in sorted(units, key=lambda one: (one.first, -one.last)):
        if not found or unit.first >= found[-1].last:
            found.append(unit)
    return found


def _apart(units: Sequence[_Unit], size_of: Callable[[_Unit], int], starts: Collection[int]) -> Iterator[list[_Unit]]:
    """Units in parts of some size: in one part, those without a line between them are indented alike and of one run.

    `starts` are the lines on which runs begin.
    """
    while units:
        part: list[_Unit] = []
        later: list[_Unit] = []
        size = 0
        for unit in units:
            if part and part[-1].last == unit.first and (part[-1].indent != unit.indent or unit.first in starts):
                later.append(unit)
                continue
            if part and size + size_of(unit) > MOST:
                yield part
                part, size = [], 0
            part.append(unit)
            size += size_of(unit)
        yield part
        units = later


def _joined(units: Sequence[_Unit]) -> Iterator[_Unit]:
    """Units with those that follow without a line between them as one."""
    current: _Unit | None = None
    for unit in units:
        if current is not None and current.last == unit.first:
            current = current._replace(last=unit.last)
            continue
        if current is not None:
            yield current
        current = unit
    if current is not None:
        yield current


def _within(unit: _Unit, units: Sequence[_Unit]) -> bool:
    """Whether a unit is one of some others, given in order, or in one."""
    index = bisect_right(units, unit.first, key=lambda one: one.first) - 1
    return index >= 0 and unit.last <= units[index].last


def _lines(text: str) -> list[str]:
    """The lines of a text as parsers count them, with their ends; `splitlines` knows more ends than these."""
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]


def _spans(statements: Sequence[ast.stmt]) -> Iterator[_Span]:
    first, last, own = 0, 0, list[ast.stmt]()
    for one in statements:
        start = _first_line(one)
        if own and start > last:
            yield _Span(first, last, tuple(own))
            own = []
        first, last = (first if own else start), one.end_lineno or one.lineno
        own.append(one)
    yield _Span(first, last, tuple(own))


def _first_line(statement: ast.AST) -> int:
    decorators: Collection[ast.expr] = getattr(statement, "decorator_list", ())
    return min([getattr(statement, "lineno", 0), *(one.lineno for one in decorators)])


def _last_line(statement: ast.AST) -> int:
    return getattr(statement, "end_lineno", None) or 0


def _is_seen(statement: ast.stmt, compared: str) -> bool:
    """Whether new imports or definitions look at what a statement of the module holds."""
    if isinstance(statement, DEFINITIONS):
        return f" {statement.name}" in compared
    return any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(statement))


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of statements that a compound statement holds."""
    for one in (statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        for name in ("body", "orelse", "finalbody"):
            if block := getattr(one, name, None):
                yield block


def _holds(lines: Sequence[int], statement: ast.stmt) -> bool:
    """Whether a statement holds one of some lines, given in order."""
    index = bisect_left(lines, _first_line(statement))
    return index < len(lines) and lines[index] <= _last_line(statement)


def _says_nothing(line: str) -> bool:
    """Whether a line is blank or a comment."""
    return not line.strip() or line.lstrip(" \t").startswith("#")


def _runs_of(units: Iterable[_Unit | None]) -> Iterator[_Run]:
    """Statements of a block that follow one another and can be left out, where they are more than a few lines."""
    for is_left_out, group in itertools.groupby(units, key=lambda unit: unit is not None):
        found = [unit for unit in group if unit is not None]
        if is_left_out and found[-1].last - found[0].first >= FEW_LINES:
            yield _Run(found[0].first, found[-1].last, found[0].indent)


def _runs(indices: Sequence[int], starts: Collection[int]) -> Iterator[tuple[int, int]]:
    """The first and the last of indices that follow one another; some begin a run of their own."""
    first = last = -2
    for index in indices:
        if index != last + 1 or index in starts:
            if first >= 0:
                yield first, last
            first = index
        last = index
    if first >= 0:
        yield first, last


def _is_loose(operation: Operation, spans: Collection[int]) -> bool:
    """Whether an operation changes an expression and needs nothing from elsewhere."""
    return isinstance(operation, OF_EXPRESSIONS) and len(spans) == 1 and not any("#" in t for t in texts_of(operation))


def _nodes(operation: Operation) -> Iterator[ast.AST]:
    """The nodes of a file that an operation is on or has in its new code."""
    yield from (node for name in NODES if isinstance(node := getattr(operation, name, None), ast.AST))
    item = getattr(operation, "item", None)
    if isinstance(item, ast.withitem):
        yield item.context_expr
    yield from (one for one in new_parts(operation) if isinstance(one, ast.AST))
