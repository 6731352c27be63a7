"""Conditions that exclude each other: `mode == "a"` around one place, `mode == "b"` around another."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from jaxmigrate.program.modules import Module


def exclude_each_other(places: Iterable[tuple[ast.AST, Module]]) -> bool:
    """Whether some places stand under tests of one value in their module of which only one can hold."""
    known: dict[tuple[Module, str], object] = {}
    for node, module in places:
        for text, value in _conditions(node, module):
            if known.setdefault((module, text), value) != value:
                return True
    return False


def _conditions(node: ast.AST, module: Module) -> list[tuple[str, object]]:
    """What the conditions around a place say, by what they test."""
    found: list[tuple[str, object]] = []
    parents = module.table.parents
    while node in parents:
        above = parents[node]
        if isinstance(above, ast.If) and node in above.body:
            match above.test:
                case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=value)]):
                    found.append((ast.unparse(left), value))
        node = above
    return found
