"""The arrays in a dictionary of results."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.flow.blocks.evidence import only_binding
from jaxmigrate.program.modules import Module


def leaves(node: ast.expr, function: ast.AST, module: Module) -> Iterator[ast.expr]:
    """The expressions that a function puts into a dictionary, if one is, entry by entry; the expression itself else."""
    display = node
    if isinstance(node, ast.Name):
        binding = only_binding(node, module)
        if binding is None or binding.scope.node is not function or binding.kind != "assign" or binding.path:
            yield node
            return
        if isinstance(binding.value, ast.Dict):
            display = binding.value
            yield from stored_in(node.id, function)
    if not isinstance(display, ast.Dict):
        yield node
        return
    for key, value in zip(display.keys, display.values, strict=True):
        if key is not None:
            yield from leaves(value, function, module)


def stored_in(name: str, function: ast.AST) -> Iterator[ast.expr]:
    """What is stored in a dictionary by its name: `metrics["loss"] = loss`."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=held), slice=ast.Constant())], value=value):
                if held == name:
                    yield value
