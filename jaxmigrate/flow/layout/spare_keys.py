"""Keys for all devices out of some more: `keys = random.split(key, n + 1)`, of which `keys[1:]` is one for each."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.key_rows import number_of_keys
from jaxmigrate.flow.layout.shape_texts import same
from jaxmigrate.program.modules import Module
from jaxmigrate.program.order import reaching


def left_of(it: Interpreter, node: ast.Subscript, module: Module) -> bool:
    """Whether a slice takes as many keys of an array of them as there are devices."""
    made = _made(it, node.value, module)
    return bool(made) and all(_takes_all_but_some(it, one, node.slice, module) for one in made)


def _made(it: Interpreter, node: ast.expr, module: Module) -> list[ast.expr]:
    """The expressions that what is sliced comes from, with all that a name is bound to there; none if not in sight."""
    if not isinstance(node, ast.Name):
        return [node]
    scope = module.table.scope_of[node]
    holder = scope.lookup(node.id)
    if holder is None or holder.function() is not scope.function():
        return []
    if ("variable", holder.node, node.id) in it.scope.rebound or node.id in it.scope.of_modules:
        return []
    bindings = reaching(holder.bindings[node.id], node, module)
    made = [one.value for one in bindings if one.value is not None and not one.path and one.kind == "assign"]
    return made if len(made) == len(bindings) else []


def _takes_all_but_some(it: Interpreter, split: ast.expr, kept: ast.expr, module: Module) -> bool:
    """Whether a slice of `random.split(key, n + 1)` leaves out as many keys as there are more than devices."""
    count = number_of_keys(split) if isinstance(split, ast.Call) else None
    if count is None or it.idioms.called(split, module) != "jax.random.split":
        return False
    match count, kept:
        case ast.BinOp(left=left, op=ast.Add(), right=right), ast.Slice(lower=lower, upper=upper, step=None):
            known, more = (left, right) if isinstance(right, ast.Constant) else (right, left)
            if not (isinstance(more, ast.Constant) and type(more.value) is int and more.value > 0):
                return False
            first = upper is None and lower is not None and same(lower, more)
            last = lower is None and upper is not None and ast.unparse(upper) == f"-{more.value}"
            some = lower is None and upper is not None and it.idioms.is_count(upper, module)
            return it.idioms.is_count(known, module) and (first or last or some)
    return False
