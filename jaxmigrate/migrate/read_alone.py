"""Names that are read in one place alone, of which a statement before it can bind the name anew."""

from __future__ import annotations

import ast

from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import ScopeTable

PLAIN = ast.Assign | ast.AnnAssign | ast.Expr | ast.Return
AT_ONCE = ast.Call | ast.keyword | ast.Starred | ast.Tuple | ast.List | ast.Subscript | ast.Attribute
LOOPS = ast.For | ast.AsyncFor | ast.While
BY_NAME = frozenset({"locals", "vars", "eval", "exec"})  # what finds variables by what they are called


def is_read_alone(name: ast.Name, module: Module) -> bool:
    """Whether nothing else of a function reads what a variable holds, so that it can hold something else before that.

    It is read where its statement runs, and in a loop it is bound in each round.
    """
    table = module.table
    statement, own = table.statement_of(name), table.scope_of[name]
    if not isinstance(statement, PLAIN) or own.kind != "function" or name.id not in own.bindings:
        return False
    above = table.parents.get(name)
    while above is not statement:
        if not isinstance(above, AT_ONCE):
            return False
        above = table.parents.get(above)
    for node in ast.walk(own.node):
        match node:
            case ast.Name(id=said) if said in BY_NAME or (said == name.id and isinstance(node.ctx, ast.Del)):
                return False
            case ast.Name(id=said, ctx=ast.Load()) if said == name.id and node is not name:
                return False
            case ast.AugAssign(target=ast.Name(id=said)) if said == name.id:
                return False
            case ast.Global(names=names) | ast.Nonlocal(names=names) if name.id in names:
                return False
    return _is_bound_before(statement, name.id, table)


def _is_bound_before(statement: ast.stmt, name: str, table: ScopeTable) -> bool:
    """Whether a variable is bound each time before a statement runs; outside of loops that is once."""
    loop = table.loop_of(statement)
    if loop is None or (isinstance(loop, ast.For) and statement in loop.body and _binds(loop.target, name)):
        return True
    block = table.block_of(statement)
    before = block[: block.index(statement)] if statement in block else []
    return any(isinstance(one, ast.Assign) and any(_binds(target, name) for target in one.targets) for one in before)


def _binds(target: ast.expr, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(target))
