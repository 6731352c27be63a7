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
    """What `**name` gives, where the name is bound once to a dictionary in sight, and only gets entries by their names.

    What is entered on some way alone is as good as any: `**` stands for it.
    """
    if not isinstance(value, ast.Name):
        return _entries(value, module)
    scope = module.table.scope_of.get(value)
    holder = scope.lookup(value.id) if scope is not None else None
    bindings = holder.bindings.get(value.id, []) if holder is not None else []
    table = module.table
    uses = [n for n in table.named.get(value.id, ()) if isinstance(n, ast.Name)]
    others = [n for n in uses if not _is_spread(table.parents.get(n))]
    entered = [_entered(n, module) for n in others]
    if len(bindings) != 1 or bindings[0].path or None in entered:
        return None
    found = _entries(bindings[0].value, module)
    if found is None or not entered:
        return found
    block = table.block_of(table.statement_of(bindings[0].node))
    call = table.statement_of(value)
    certain = {
        statement
        for statement in block
        if isinstance(statement, ast.Assign) and call is not None and statement.lineno < call.lineno
    }
    known = {one.keyword: one for one in found}
    unsure = False
    for one in entered:
        if one is not None and one[0] in certain:
            known[one[1]] = Argument(one[1], one[0].value, module)
        elif one is not None:
            known.pop(one[1], None)
            unsure = True
    return [*known.values(), *([Argument("**", value, module)] if unsure else [])]


def _entered(name: ast.Name, module: Module) -> tuple[ast.Assign, str] | None:
    """The assignment `name["key"] = ...` that a name stands in, with the key."""
    target = module.table.parents.get(name)
    statement = module.table.parents.get(target) if target is not None else None
    match target:
        case ast.Subscript(slice=ast.Constant(value=str(key)), ctx=ast.Store()):
            if isinstance(statement, ast.Assign) and statement.targets == [target]:
                return statement, key
    return None


def _entries(found: ast.expr | None, module: Module) -> list[Argument] | None:
    """The entries of a dictionary that is written out, as arguments."""
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
