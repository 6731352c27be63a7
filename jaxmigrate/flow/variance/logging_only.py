"""Functions that only tell a log something: which process runs them shows nowhere in the numbers.

`if jax.process_index() == 0: logging.info(...)` is everywhere in programs of several processes. A function that is
nothing else gives nothing, stores nothing, and calls nothing but a log.
"""

from __future__ import annotations

import ast

from jaxmigrate.program.library import starting
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import walk
from jaxmigrate.program.values import External

LOGS = starting("logs")
PLAIN_STATEMENTS = (ast.Expr, ast.If, ast.Pass, ast.Return)


def only_logs(function: ast.AST, module: Module, resolver: Resolver) -> bool:
    """Whether nothing but a log can tell that a function has run."""
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return False
    inside = [node for statement in function.body for node in walk(statement)]
    if not all(isinstance(node, PLAIN_STATEMENTS) for node in inside if isinstance(node, ast.stmt)):
        return False
    if any(isinstance(node, ast.Return) and not is_none(node.value) for node in inside):
        return False
    if any(isinstance(node, ast.Lambda | ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await) for node in inside):
        return False
    calls = [node for node in inside if isinstance(node, ast.Call)]
    if any(keyword.arg in (None, "file") for call in calls for keyword in call.keywords):
        return False
    return all(_is_log(call.func, module, resolver) for call in calls)


def is_none(node: ast.expr | None) -> bool:
    """Whether an expression is absent, or None written out."""
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


def _is_log(callee: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether a callee is a function of a log, or a method of what one gives."""
    while isinstance(callee, ast.Attribute):
        values = resolver.values(callee, module)
        if values and all(isinstance(v, External) and _names_log(v.name) for v in values):
            return True
        inner = callee.value
        callee = inner.func if isinstance(inner, ast.Call) else inner
    values = resolver.values(callee, module)
    return bool(values) and all(isinstance(v, External) and _names_log(v.name) for v in values)


def _names_log(name: str) -> bool:
    return any(name == log or name.startswith(f"{log}.") for log in LOGS)
