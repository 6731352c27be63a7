"""Which LibCST node stands where a node of `ast` does.

Both count lines from 1; `ast` counts columns in bytes of UTF-8, LibCST in characters. `ast` counts the parentheses of a
tuple and of a generator as theirs, LibCST does not, so these two are known by what stands first in them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import libcst as cst
from libcst.metadata import CodeRange

Key: TypeAlias = tuple[object, ...]
COMPOUND = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.AsyncFor, ast.While),
    *(ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match),
)


class Places:
    """The keys by which the nodes of one text are found in both trees."""

    def __init__(self, lines: Sequence[str], parsed: Sequence[str], ranges: Mapping[cst.CSTNode, CodeRange]) -> None:
        """`lines` are those of the text, `parsed` those that LibCST keeps: it drops form feeds before statements."""
        self._lines = lines
        self._parsed = parsed
        self._ranges = ranges

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
        start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        return start[0], self._column(*start), end[0], self._column(*end)

    def _column(self, line: int, column: int) -> int:
        text = self._lines[line - 1]
        column = column if text.isascii() else len(text.encode()[:column].decode(errors="replace"))
        return max(0, column - len(text) + len(self._parsed[line - 1]))

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
        found = self._ranges[node]
        return found.start.line, found.start.column, found.end.line, found.end.column

    def _of_element(self, element: cst.BaseElement) -> Key:
        inner = self.of_cst(element.value)
        return ("star", inner) if isinstance(element, cst.StarredElement) else inner

    def start(self, node: cst.CSTNode) -> tuple[int, int]:
        """The line, from 1, and the column, from 0, at which a node begins."""
        found = self._ranges[node].start
        return found.line, found.column

    def end(self, node: cst.CSTNode) -> tuple[int, int]:
        """The line, from 1, and the column, from 0, behind a node."""
        found = self._ranges[node].end
        return found.line, found.column
