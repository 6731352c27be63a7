"""What expressions show by themselves: the last of their names, and the calls in them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from jaxmigrate.program.functions import own_statements
from jaxmigrate.program.scopes import FunctionNode, children


def last_name(node: ast.expr) -> str:
    """The name after the last dot of a name, empty for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def said_names(node: ast.expr) -> list[str]:
    """What an expression is called, in small letters: of `batch['image']` the key first, of `next(it)` the iterator."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return [name.lower()]
        case ast.Subscript(value=value, slice=ast.Constant(value=str(key))):
            return [key.lower(), *said_names(value)]
        case ast.Subscript(value=value) | ast.Starred(value=value) | ast.Call(args=[value]):
            return said_names(value)
        case ast.Call(func=func):
            return said_names(func)
    return []


def said_name(node: ast.expr) -> str:
    """The first of these, empty where an expression says none."""
    return next(iter(said_names(node)), "")


def has_stars(call: ast.Call) -> bool:
    """Whether `*` or `**` hides which arguments a call passes."""
    return any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)


def is_main_guard(node: ast.AST) -> bool:
    """Whether a statement is `if __name__ == "__main__":`, below which is what only a script runs."""
    return isinstance(node, ast.If) and "__main__" in ast.unparse(node.test)


def by_last_name(calls: Iterable[ast.Call]) -> dict[str, list[ast.Call]]:
    """Calls by the last part of the name of what they call."""
    found: dict[str, list[ast.Call]] = {}
    for call in calls:
        found.setdefault(last_name(call.func), []).append(call)
    return found


def calls_of(node: FunctionNode) -> Iterator[ast.Call]:
    """The calls in a function's body, those of functions defined in it left out."""
    roots: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else list(own_statements(node))
    for root in roots:
        if isinstance(root, ast.expr):
            yield from expression_calls(root)


def expression_calls(expression: ast.expr) -> Iterator[ast.Call]:
    """The calls in an expression, in the order in which they are written, bodies of lambdas left out."""
    pending: list[ast.AST] = [expression]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Call):
            yield node
        if not isinstance(node, ast.Lambda | ast.Constant | ast.Name):
            pending += children(node)[::-1]


def is_repeatable(node: ast.expr) -> bool:
    """Whether an expression means the same twice: a name, or fields and constant entries of one."""
    while isinstance(node, ast.Attribute) or (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)):
        node = node.value
    return isinstance(node, ast.Name)
