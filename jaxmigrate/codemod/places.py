"""Which LibCST node stands where a node of `ast` does.

Both count lines from 1; `ast` counts columns in bytes of UTF-8, LibCST in characters. `ast` counts the parentheses of a
tuple and of a generator as theirs, LibCST does not, so these two are known by what stands first in them.

LibCST works positions out by printing a tree. Only the statements that an operation touches are printed for it; on
which lines the others stand is known from `ast`, which has the same statements in the same order.
"""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeAlias, TypeVar

import libcst as cst
from libcst._batched_visitor import VisitorMethod
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

Key: TypeAlias = tuple[object, ...]
_Place = TypeVar("_Place", int, tuple[int, int])
COMPOUND = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.AsyncFor, ast.While),
    *(ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match),
)


class _Wrapper(MetadataWrapper):
    """Does not walk the tree, which builds it anew, for providers that visit nothing."""

    def visit_batched(
        self,
        visitors: Iterable[cst.BatchableCSTVisitor],
        before_visit: VisitorMethod | None = None,
        after_leave: VisitorMethod | None = None,
    ) -> cst.CSTNode:
        """As LibCST does, where there is a visitor."""
        visitors = list(visitors)
        return super().visit_batched(visitors, before_visit, after_leave) if visitors else self.module


class Places:
    """The keys by which the nodes of one text are found in both trees."""

    def __init__(self, tree: cst.Module, text: str) -> None:
        self._tree = tree
        self._given = lines_of(text)
        # LibCST drops form feeds before statements
        self.lines = lines_of(tree.code) if "\f" in text else self._given
        self._top = dict(_lines_of_statements(tree, ast.parse(text)))
        self._ranges: dict[cst.CSTNode, CodeRange] = {}
        self._starts: list[int] = []  # lines of the touched statements, as they are printed
        self._shifts: list[int] = []  # how far below these they stand in the text

    def find(self, lines: Sequence[int]) -> None:
        """Works out the positions of all nodes in the statements of the module that hold some lines, given in order."""
        touched = [one for one in self._tree.body if holds(lines, *self._top[one])]
        excerpt = self._tree.with_changes(body=touched, header=(), footer=())
        wrapper = _Wrapper(excerpt, unsafe_skip_copy=True)  # a parsed tree has no node twice
        self._ranges = dict(wrapper.resolve(PositionProvider))
        for one in touched:
            decorators = getattr(one, "decorators", ())
            start = self._ranges[decorators[0] if decorators else one].start.line
            self._starts.append(start - len(one.leading_lines))
            self._shifts.append(self._top[one][0] - start)

    def knows(self, node: cst.CSTNode) -> bool:
        """Whether a node is in a statement that some operation touches."""
        return node in self._ranges

    def lines_of(self, statement: cst.BaseStatement) -> tuple[int, int]:
        """The first and last line of a statement of the module."""
        return self._top[statement]

    def of_ast(self, node: ast.AST) -> Key:
        """The key of a node of `ast` that has a position."""
        if isinstance(node, ast.Tuple) and not node.elts:
            return ("empty", node.lineno, self._column(node.lineno, node.col_offset))
        if isinstance(node, ast.Tuple):
            return ("tuple", len(node.elts), self.of_ast(node.elts[0]))
        if isinstance(node, ast.GeneratorExp):
            return ("generator", self.of_ast(node.elt))
        if isinstance(node, ast.Starred):
            return ("star", self.of_ast(node.value))
        if isinstance(node, COMPOUND):
            return ("compound", node.lineno, self._column(node.lineno, node.col_offset))
        assert isinstance(node, ast.expr | ast.stmt | ast.keyword | ast.alias)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        end = node.end_lineno, node.end_col_offset
        return *self.start_of_ast(node), end[0], self._column(*end)

    def start_of_ast(self, node: ast.expr | ast.stmt | ast.keyword | ast.alias) -> tuple[int, int]:
        """The line and the column, in characters, at which a node of `ast` begins."""
        return node.lineno, self._column(node.lineno, node.col_offset)

    def _column(self, line: int, column: int) -> int:
        text = self._given[line - 1]
        column = column if text.isascii() else len(text.encode()[:column].decode(errors="replace"))
        return max(0, column - len(text) + len(self.lines[line - 1]))

    def of_cst(self, node: cst.CSTNode) -> Key:
        """The key of a LibCST node."""
        if isinstance(node, cst.Tuple) and not node.elements:
            return ("empty", *self.start(node.lpar[-1]))
        if isinstance(node, cst.Tuple):
            return ("tuple", len(node.elements), self._of_element(node.elements[0]))
        if isinstance(node, cst.GeneratorExp):
            return ("generator", self.of_cst(node.elt))
        if isinstance(node, cst.BaseCompoundStatement):
            return ("compound", *self.start(node))
        return *self.start(node), *self.end(node)

    def _of_element(self, element: cst.BaseElement) -> Key:
        inner = self.of_cst(element.value)
        return ("star", inner) if isinstance(element, cst.StarredElement) else inner

    def start(self, node: cst.CSTNode) -> tuple[int, int]:
        """The line, from 1, and the column, from 0, at which a node of a touched statement begins."""
        found = self._ranges[node].start
        return self._line(found.line), found.column

    def end(self, node: cst.CSTNode) -> tuple[int, int]:
        """The line, from 1, and the column, from 0, behind a node of a touched statement."""
        found = self._ranges[node].end
        return self._line(found.line), found.column

    def _line(self, printed: int) -> int:
        return printed + self._shifts[max(0, bisect_right(self._starts, printed) - 1)]


def lines_of(text: str) -> list[str]:
    """The lines of a text, as both parsers count them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def holds(places: Sequence[_Place], first: _Place, last: _Place) -> bool:
    """Whether one of some lines or places, given in order, is among those from a first to a last one."""
    index = bisect_left(places, first)
    return index < len(places) and places[index] <= last


def _lines_of_statements(tree: cst.Module, module: ast.Module) -> Iterator[tuple[cst.BaseStatement, tuple[int, int]]]:
    """The first and last line of each statement of a module."""
    statements = iter(module.body)
    for line in tree.body:
        count = len(line.body) if isinstance(line, cst.SimpleStatementLine) else 1
        own = [next(statements) for _ in range(count)]
        yield line, (_first_line(own[0]), own[-1].end_lineno or own[-1].lineno)


def _first_line(statement: ast.stmt) -> int:
    decorators: Collection[ast.expr] = getattr(statement, "decorator_list", ())
    return min([statement.lineno, *(one.lineno for one in decorators)])
