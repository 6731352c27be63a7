"""Nodes of a program by their source, and programs after operations on them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from jaxmigrate.codemod.apply import rewritten
from jaxmigrate.codemod.style import Style
from jaxmigrate.program.operations import Operation


class Nodes:
    """The nodes of a program, found by what `ast` writes for them."""

    def __init__(self, text: str) -> None:
        self.tree = ast.parse(text)
        self.all = list(ast.walk(self.tree))

    def __call__(self, source: str) -> ast.expr:
        """The first expression that is written so."""
        return next(n for n in self.all if isinstance(n, ast.expr) and ast.unparse(n) == source)

    def call(self, source: str) -> ast.Call:
        """The first call that is written so."""
        found = self(source)
        assert isinstance(found, ast.Call)
        return found

    def keyword(self, name: str) -> ast.keyword:
        """The first argument by keyword of a name."""
        return next(n for n in self.all if isinstance(n, ast.keyword) and n.arg == name)

    def statement(self, source: str) -> ast.stmt:
        """The first statement that begins so."""
        return next(n for n in self.all if isinstance(n, ast.stmt) and ast.unparse(n).startswith(source))

    def function(self, name: str) -> ast.FunctionDef:
        """The first function of a name."""
        return next(n for n in self.all if isinstance(n, ast.FunctionDef) and n.name == name)

    def imported(self, source: str) -> ast.ImportFrom | ast.Import:
        """The first import that is written so."""
        found = self.statement(source)
        assert isinstance(found, ast.Import | ast.ImportFrom)
        return found


Plan = Callable[[Nodes], Iterable[Operation]]


def after(text: str, plan: Plan, style: Style = Style(), *, marks: bool = False) -> str:  # noqa: B008 - never changed
    """A program after the operations of a plan, which must parse."""
    found = rewritten(text, list(plan(Nodes(text))), style, marks=marks)
    ast.parse(found)
    return found
