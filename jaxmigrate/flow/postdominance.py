"""Whether a function evaluates an expression whenever it runs, as far as its statements tell."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import last_name

FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
OVER_LEAVES = frozenset({"map", "tree_map"})  # which run a lambda for every leaf of a tree


def runs(node: ast.AST, module: Module) -> bool:
    """Whether the innermost def around an expression cannot return without having come to it."""
    parents = module.table.parents
    while node in parents:
        above = parents[node]
        if isinstance(above, FUNCTIONS):
            return node in above.body and not _may_leave(above.body, node)
        if not _comes_to(above, node, module):
            return False
        node = above
    return False


def _comes_to(above: ast.AST, node: ast.AST, module: Module) -> bool:
    """Whether a part of a statement or expression is run whenever the whole is."""
    match above:
        case ast.ClassDef() | ast.ExceptHandler() | ast.Match() | ast.Assert() | ast.DictComp() | ast.SetComp():
            return False
        case ast.If(test=first) | ast.IfExp(test=first) | ast.While(test=first) | ast.For(iter=first):
            return node is first
        case ast.BoolOp(values=[first, *_]):
            return node is first
        case ast.ListComp() | ast.GeneratorExp() | ast.AsyncFor() | ast.Try() | ast.TryStar():
            return isinstance(above, ast.Try) and node in above.finalbody
        case ast.With(body=body) | ast.AsyncWith(body=body) if node in body:
            return not _may_leave(body, node)
        case ast.Lambda():
            call = module.table.parents.get(above)
            return isinstance(call, ast.Call) and above in call.args and last_name(call.func) in OVER_LEAVES
    return True


def _may_leave(body: list[ast.stmt], node: ast.AST) -> bool:
    """Whether a statement before one may end the function or the loop that they are in."""
    before = body[: next(i for i, one in enumerate(body) if one is node)]
    ends = ast.Return | ast.Break | ast.Continue
    return any(isinstance(inner, ends) for one in before for inner in _own(one))


def _own(statement: ast.AST) -> Iterator[ast.AST]:
    """What stands in a statement but for the insides of functions."""
    if not isinstance(statement, FUNCTIONS | ast.Lambda | ast.ClassDef):
        yield statement
        for child in ast.iter_child_nodes(statement):
            yield from _own(child)
