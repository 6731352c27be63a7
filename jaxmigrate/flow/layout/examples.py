"""Batches of which the first device's rows are an example: `model.init(key, batch[0])` looks at their shape alone."""

from __future__ import annotations

import ast
import re

from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import last_name

INITIALIZES = re.compile(r"(^|_)init(ialize\w*)?(_|$)|^(create|make|get|build)_(\w+_)?state$|^(eval_shape|tabulate)$")


def initializing(node: ast.expr, module: Module) -> ast.Call | None:
    """The call that is given a slice, or what holds it, and that makes a network's parameters by its shape."""
    above: ast.AST | None = module.table.parents.get(node)
    below: ast.AST = node
    while True:
        match above:
            case ast.Subscript(value=value, slice=ast.Constant(value=str())) if value is below:
                pass
            case ast.Dict() | ast.Tuple() | ast.List() | ast.keyword():
                pass
            case ast.Call(func=func) if below is not func:
                return above if INITIALIZES.search(last_name(func)) else None
            case _:
                return None
        below, above = above, module.table.parents.get(above)


def is_example_of(node: ast.expr, module: Module) -> bool:
    """Whether the slices that an expression takes go where a network's parameters are made, and nowhere else."""
    return initializing(node, module) is not None
