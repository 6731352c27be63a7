"""Names that are read in one place alone, of which a statement before it can bind the name anew."""

from __future__ import annotations

import ast
import re

from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import ScopeTable

PLAIN = ast.Assign | ast.AnnAssign | ast.Expr | ast.Return
AT_ONCE = ast.Call | ast.keyword | ast.Starred | ast.Tuple | ast.List | ast.Subscript | ast.Attribute
LOOPS = ast.For | ast.AsyncFor | ast.While
BY_NAME = frozenset({"locals", "vars", "eval", "exec"})  # what finds variables by what they are called


def is_read_alone(name: ast.Name, module: Module, resolver: Resolver) -> bool:
    """Whether nothing else reads what a variable holds, so that it can hold something else before that.

    It is read where its statement runs, and in a loop it is bound in each round. A variable of a module is one that no
    other file of the project can mean.
    """
    table = module.table
    statement, own = table.statement_of(name), table.scope_of[name]
    if not isinstance(statement, PLAIN) or name.id not in own.bindings:
        return False
    if own.kind != "function" and (own.kind != "module" or _may_be_imported(name.id, module, resolver)):
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
                held = table.scope_of.get(node)
                if held is None or held.lookup(said) is own:
                    return False
            case ast.AugAssign(target=ast.Name(id=said)) if said == name.id:
                return False
            case ast.Global(names=names) | ast.Nonlocal(names=names) if name.id in names:
                return False
    return _is_bound_before(statement, name.id, table)


def _is_bound_before(statement: ast.stmt, name: str, table: ScopeTable) -> bool:
    """Whether a variable is bound each time before a statement runs; outside of loops that is once."""
    loop, node = table.loop_of(statement), statement
    while loop is not None and node is not loop:
        block = table.block_of(node)
        before = block[: block.index(node)] if node in block else []
        if any(isinstance(one, ast.Assign) and any(_binds(target, name) for target in one.targets) for one in before):
            return True
        above = table.parents[node]
        if above is loop:
            return isinstance(loop, ast.For) and node in loop.body and _binds(loop.target, name)
        if not isinstance(above, ast.With | ast.If):
            return False
        node = above
    return True


def _may_be_imported(name: str, module: Module, resolver: Resolver) -> bool:
    """Whether another file that says the name of a module may mean a variable of it, or a notebook's next cell."""
    imports = re.compile(
        rf"\b(?:from|import)\b[^\n#]*\b(?:{re.escape(module.path.stem)}|__main__)\b|\b(?:importlib|runpy|exec)\b"
    )
    others = (one for one in resolver.project.program if one is not module and name in one.text)
    return bool(module.cells) or any(imports.search(one.text) for one in others)


def _binds(target: ast.expr, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(target))
