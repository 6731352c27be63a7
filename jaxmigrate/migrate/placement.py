"""Where a statement goes so that every place that needs its name comes after it."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxmigrate.migrate.edits import Positions
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import FunctionNode

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)  # which style guides set apart by an empty line
Holder = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module


def holder_of(node: ast.expr, module: Module) -> Holder | None:
    """The outermost function around a node, or its module; None inside a lambda that no function holds."""
    holder: Holder = module.tree
    lambdas = False
    parent = module.table.parents.get(node)
    while parent is not None:
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef) and not _in_head(node, parent):
            holder = parent
        lambdas |= isinstance(parent, ast.Lambda)
        node, parent = parent, module.table.parents.get(parent)  # type: ignore[assignment]
    return None if lambdas and isinstance(holder, ast.Module) else holder


def _in_head(node: ast.AST, function: FunctionNode) -> bool:
    """Whether a node stands in a function's decorators or defaults, which belong to what is around it."""
    return isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and node not in function.body


def statement_before(holder: Holder, uses: Sequence[ast.expr], module: Module) -> ast.stmt | None:
    """The statement of a function, or of a module's script part, before which a name for all uses can be bound."""
    chains = [_chain(use, holder, module) for use in uses]
    body: Sequence[ast.stmt] = holder.body
    depth = 0
    while True:
        inside = [chain[depth] for chain in chains]
        first = min(inside, key=lambda s: (s.lineno, s.col_offset))
        if isinstance(holder, ast.Module) and all(s is first for s in inside) and isinstance(first, ast.If | ast.With):
            deeper = first.body
            if all(len(chain) > depth + 1 and chain[depth + 1] in deeper for chain in chains):
                body, depth = deeper, depth + 1
                continue
        return first if first in body else None


def _chain(node: ast.AST, holder: Holder, module: Module) -> list[ast.stmt]:
    """The statements around a node, outermost first, inside of a holder."""
    found: list[ast.stmt] = []
    current: ast.AST | None = node
    while current is not None and current is not holder:
        if isinstance(current, ast.stmt):
            found.append(current)
        current = module.table.parents.get(current)
    return found[::-1]


def line_start(statement: ast.stmt, module: Module, positions: Positions) -> tuple[int, str] | None:
    """The offset of the line that a statement begins, and its indentation; None where something stands before it."""
    decorators = getattr(statement, "decorator_list", [])
    line = min([statement.lineno, *(d.lineno for d in decorators)])
    start, end = positions.line_span(line)
    text = module.text[start:end]
    indent = text[: len(text) - len(text.lstrip(" \t"))]
    first = text[len(indent) :]
    column = positions.span(statement)[0] if not decorators else start + len(indent)
    if statement.lineno == line and column != start + len(indent):
        return None
    return (start, indent) if first.strip() else None
