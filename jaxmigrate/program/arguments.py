"""The arguments of a call as it is written, with what `**` brings of a dictionary in sight."""

from __future__ import annotations

import ast

from jaxmigrate.program.modules import Module
from jaxmigrate.program.values import (
    Argument,
)


def call_arguments(call: ast.Call, module: Module) -> tuple[Argument, ...]:
    """The arguments of a call in the order in which they stand."""
    positional = tuple(
        Argument("*", a.value, module) if isinstance(a, ast.Starred) else Argument(None, a, module) for a in call.args
    )
    named: list[Argument] = []
    for k in call.keywords:
        spread = _spread(k.value, module) if k.arg is None else None
        named += [Argument(k.arg or "**", k.value, module)] if spread is None else spread
    return (*positional, *named)


def _spread(value: ast.expr, module: Module) -> list[Argument] | None:
    """What `**name` gives, where the name is bound once to a dictionary in sight and has no other use."""
    if isinstance(value, ast.Name):
        scope = module.table.scope_of.get(value)
        holder = scope.lookup(value.id) if scope is not None else None
        bindings = holder.bindings.get(value.id, []) if holder is not None else []
        table = module.table
        uses = [n for n in table.named.get(value.id, ()) if isinstance(n, ast.Name)]
        if len(bindings) != 1 or bindings[0].path or not all(_is_spread(table.parents.get(n)) for n in uses):
            return None
        found = bindings[0].value
    else:
        found = value
    match found:
        case ast.Dict(keys=keys, values=values) if keys and all(
            isinstance(k, ast.Constant) and isinstance(k.value, str) for k in keys
        ):
            names = [k.value if isinstance(k, ast.Constant) else "" for k in keys]
            return [Argument(str(name), one, module) for name, one in zip(names, values, strict=True)]
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords) if all(k.arg for k in keywords):
            return [Argument(k.arg, k.value, module) for k in keywords]
    return None


def _is_spread(node: ast.AST | None) -> bool:
    return isinstance(node, ast.keyword) and node.arg is None
