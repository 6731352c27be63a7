"""The text around an expression: what rules look through for words that settle a doubt."""

from __future__ import annotations

import ast

from jaxmigrate.program.modules import Module


def text_around(node: ast.AST, module: Module) -> str:
    """The outermost function around something, as text without comments; the thing itself where there is none."""
    return ast.unparse(outermost_function(node, module))


def outermost_function(node: ast.AST, module: Module) -> ast.AST:
    """The outermost function around something; the thing itself where there is none."""
    outermost = node
    while node in module.table.parents:
        node = module.table.parents[node]
        outermost = node if isinstance(node, ast.FunctionDef) else outermost
    return outermost
