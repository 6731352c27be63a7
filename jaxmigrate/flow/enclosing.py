"""The text around an expression: what rules look through for words that settle a doubt."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import last_name

COUNTED = re.compile("device_count|axis_size|devices|world|process_count|global_b|replicas")
SPLITTING = re.compile("split|shard|reshape|replicate|broadcast|print|log|info|warn|range|stack")


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


def counts_devices(node: ast.AST, module: Module) -> bool:
    """Whether the function around something counts devices for anything but to split a batch, to compare or to say."""
    around = outermost_function(node, module)
    return any(COUNTED.search(ast.unparse(one)) is not None for one in _leaves_of_text(around))


def _leaves_of_text(node: ast.AST) -> Iterator[ast.expr]:
    """The names in some code, and its longer words, but for those that cannot scale what a loss is."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Call(func=function) if SPLITTING.search(last_name(function)):
                continue
            case (
                ast.Assert() | ast.Raise() | ast.Compare() | ast.JoinedStr() | ast.BinOp(op=ast.Mod() | ast.FloorDiv())
            ):
                continue
            case ast.Name() | ast.Attribute():
                yield child
            case ast.arg():
                yield ast.Name(child.arg)
        yield from _leaves_of_text(child)
