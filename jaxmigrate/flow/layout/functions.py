"""What functions are made of: those that do no more than return an expression, and those that take one argument."""

from __future__ import annotations

import ast

from jaxmigrate.program.scopes import FunctionNode, is_docstring, positional_names
from jaxmigrate.program.syntax import last_name

CHANGING = frozenset({"next", "pop", "popleft", "append", "add", "update", "send", "setdefault", "write"})


def single_return(node: FunctionNode) -> ast.expr | None:
    """The expression that a function returns, where that is all it does beside defining functions for it."""
    if isinstance(node, ast.Lambda):
        return node.body
    body = node.body[1:] if is_docstring(node.body[0]) else node.body
    if node.decorator_list or isinstance(node, ast.AsyncFunctionDef) or not body:
        return None
    *before, last = body
    inner = all(isinstance(s, ast.FunctionDef) or _assigns_count(s) for s in before)
    return last.value if inner and isinstance(last, ast.Return) else None


def _assigns_count(statement: ast.stmt) -> bool:
    """`n = jax.local_device_count()` and its like: a call without arguments that matter."""
    return (
        isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and isinstance(statement.targets[0], ast.Name)
        and isinstance(statement.value, ast.Call)
        and not any(isinstance(n, ast.Call) and last_name(n.func) in CHANGING for n in ast.walk(statement.value))
        and not any(isinstance(n, ast.Name) and n.id == statement.targets[0].id for n in ast.walk(statement.value))
    )


def is_generator(node: FunctionNode) -> bool:
    """Whether a function yields."""
    return any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(node))


def only_parameter(node: FunctionNode, skip: bool = False) -> str | None:
    """The name of a function's one parameter."""
    return first_parameter(node, 1, skip)


def first_parameter(node: FunctionNode, count: int, skip: bool = False) -> str | None:
    """The name of the first parameter of a function that has so many."""
    spec = node.args
    names = positional_names(spec)[1 if skip else 0 :]
    whole = len(names) == count and not (spec.vararg or spec.kwarg or spec.kwonlyargs)
    return names[0] if whole else None
