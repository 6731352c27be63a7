"""What the text of a function says of itself: its own statements, what it returns, and its kind of method."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.program.scopes import FunctionNode, children


def own_statements(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """The statements of a function's body without those of functions and classes defined in it."""
    pending: list[ast.AST] = list(reversed(node.body))
    while pending:
        current = pending.pop()
        yield current
        if not isinstance(current, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
            pending += children(current)[::-1]


def returned_by(node: FunctionNode) -> list[ast.expr | None]:
    """What stands behind each `return` of a function, None where nothing does; of a lambda its body."""
    if isinstance(node, ast.Lambda):
        return [node.body]
    return [statement.value for statement in own_statements(node) if isinstance(statement, ast.Return)]


def is_static(function: FunctionNode) -> bool:
    """Whether a method is declared a staticmethod."""
    return _has_decorator(function, "staticmethod")


def is_classmethod(function: FunctionNode) -> bool:
    """Whether a method is declared a classmethod."""
    return _has_decorator(function, "classmethod")


def _has_decorator(function: FunctionNode, name: str) -> bool:
    if isinstance(function, ast.Lambda) or not function.decorator_list:
        return False
    return any(isinstance(d, ast.Name) and d.id == name for d in function.decorator_list)


def is_abstract(node: ast.FunctionDef) -> bool:
    """Whether a method does nothing but raise, or nothing at all."""
    plain = [one for one in node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    return all(isinstance(one, ast.Raise | ast.Pass) for one in plain)
