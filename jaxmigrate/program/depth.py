"""Expressions that are nested more deeply than they can be followed: of generated code, which Python itself takes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from jaxmigrate.program.scopes import inner_statements

DEEPEST = 2_000  # levels; what follows expressions takes several calls for each, of 10,000 in all
LONG = 2 * DEEPEST  # characters that so many levels take at least


def too_deep(tree: ast.Module, lines: Sequence[str]) -> ast.stmt | None:
    """A statement with an expression that is nested too deeply; None, soon, where no statement is long."""
    pending: list[ast.AST] = [*tree.body]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.stmt) and not _is_long(lines, node.lineno, node.end_lineno):
            continue  # and nothing in it is
        inner = inner_statements(node)
        pending += inner
        if isinstance(node, ast.stmt):
            last = inner[0].lineno if inner and isinstance(inner[0], ast.stmt) else node.end_lineno
            if _is_long(lines, node.lineno, last) and _depth_without(node, inner) > DEEPEST:
                return node
    return None


def _is_long(lines: Sequence[str], first: int, last: int | None) -> bool:
    return sum(map(len, lines[first - 1 : last])) > LONG


def _depth_without(node: ast.AST, inner: Iterable[ast.AST]) -> int:
    """How deeply a statement is nested but for the statements within it."""
    left = {id(one) for one in inner}
    level: list[ast.AST] = [node]
    depth = 0
    while level:
        depth += 1
        level = [child for one in level for child in ast.iter_child_nodes(one) if id(child) not in left]
    return depth
