"""Where a name is read behind a statement, before it holds something else: further down, or in a loop's next round."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TypeAlias

from jaxmigrate.program.modules import Module

METADATA = frozenset({"shape", "dtype", "ndim", "size", "sharding", "is_deleted", "aval", "nbytes", "itemsize"})
METADATA |= {"weak_type", "committed", "is_fully_addressable", "is_fully_replicated"}
IsUnread: TypeAlias = Callable[[ast.expr], bool]
_LEAVES = ast.Return | ast.Raise | ast.Continue | ast.Break


def _is_read(_: ast.expr) -> bool:
    return False


def dotted(node: ast.AST) -> str:
    """A name, or names with dots between them, as they stand; empty for anything else."""
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return node.id if isinstance(node, ast.Name) else ""


def read_again(call: ast.Call, name: str, module: Module, is_unread: IsUnread = _is_read) -> ast.expr | None:
    """Where a name is read after a call and before it is bound again, going outward block by block.

    `is_unread` knows places where it stands, but no value of it is read.
    """
    parents = module.table.parents
    node: ast.AST = call
    while not isinstance(node, ast.stmt):
        if isinstance(node, ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.SetComp):
            return None
        node = parents[node]
    if stores(node, name) or isinstance(node, ast.Return | ast.Raise):
        return None
    if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr):
        return None
    while True:
        parent = parents.get(node)
        block = block_of(node, parent)
        if block is None:
            return None
        after = block[block.index(node) + 1 :]
        read, ended = in_sequence(after, name, is_unread)
        if read is None and ended and isinstance(parent, ast.For | ast.AsyncFor | ast.While):
            return _argument_named(call, name) if _is_rebound_at_times(after, name) else None
        if read is not None or ended:
            return read
        if isinstance(parent, ast.For | ast.AsyncFor | ast.While):
            again = _in_next_round(parent, call, name)
            if again is not None or binds(parent, name):
                return again
        if parent is None or isinstance(parent, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return None
        node = parent


def block_of(node: ast.AST, parent: ast.AST | None) -> Sequence[ast.stmt] | None:
    """The statements that one stands among, in what is right above it."""
    for field in ("body", "orelse", "finalbody", "handlers"):
        block = getattr(parent, field, None)
        if isinstance(block, list) and node in block:
            return block
    return None


def in_sequence(
    statements: Sequence[ast.stmt], name: str, is_unread: IsUnread = _is_read
) -> tuple[ast.expr | None, bool]:
    """The first read of a name in some statements, and whether none can follow them."""
    for statement in statements:
        simple = isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return | ast.Delete)
        bound = binds(statement, name)
        if bound and isinstance(statement, ast.For) and not binds(statement.target, name):
            return in_sequence(statement.body, name, is_unread)[0], True  # in its first round
        if bound and not simple:
            return None, True  # in some way through it; who knows which comes first
        read = _read_in(statement, name, is_unread)
        if read is not None or bound or isinstance(statement, _LEAVES):
            return read, True
    return None, False


def _in_next_round(loop: ast.For | ast.AsyncFor | ast.While, call: ast.Call, name: str) -> ast.expr | None:
    """The argument itself where the loop never binds the name again, and goes round."""
    if binds(loop, name) or any(isinstance(node, ast.Break | ast.Return | ast.Raise) for node in ast.walk(loop)):
        return None
    return _argument_named(call, name)


def _argument_named(call: ast.Call, name: str) -> ast.expr | None:
    given = [part for one in (*call.args, *(k.value for k in call.keywords)) for part in ast.walk(one)]
    return next((one for one in given if isinstance(one, ast.expr) and dotted(one) == name), None)


def _is_rebound_at_times(statements: Sequence[ast.stmt], name: str) -> bool:
    """Whether the rest of a loop binds a name in one way of one branch alone, and goes round on the other way, too.

    `if isfinite(loss): state = new_state`: on the other way the loop goes on with what was donated.
    """
    binding = [one for one in statements if binds(one, name)]
    if len(binding) == 1 and isinstance(binding[0], ast.Assign):
        return any(_goes_round(one) for one in statements[: statements.index(binding[0])])
    if len(binding) != 1 or not isinstance(binding[0], ast.If):
        return False
    ways = (binding[0].body, binding[0].orelse)
    kept = [way for way in ways if not any(binds(one, name) for one in way)]
    renewed = [way for way in ways if any(isinstance(one, ast.Assign) and stores(one, name) for one in way)]
    leaving = (ast.Return, ast.Raise, ast.Break)
    ends = any(isinstance(inner, leaving) for way in kept for one in way for inner in ast.walk(one))
    before = statements[: statements.index(binding[0])]
    leaves = any(isinstance(inner, ast.Continue) for one in before for inner in ast.walk(one))
    return len(kept) == len(renewed) == 1 and not ends and not leaves and "donate" not in ast.unparse(binding[0].test)


def _goes_round(statement: ast.stmt) -> bool:
    """Whether a statement goes on with the next round of a loop under a condition."""
    return isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Continue) and not statement.orelse


def _read_in(statement: ast.stmt, name: str, is_unread: IsUnread) -> ast.expr | None:
    if isinstance(statement, ast.Delete):
        return None
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop(0)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load) and dotted(node) == name:
            if not is_unread(node):
                return node
            continue
        if isinstance(node, ast.Attribute) and node.attr in METADATA:
            continue
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            pending.extend(ast.iter_child_nodes(node))
    return None


def asks_for_deletion(node: ast.expr, module: Module) -> bool:
    """Whether a statement deletes arrays itself, or asks whether they are: `assert x.is_deleted()`."""
    statement = module.table.statement_of(node)
    return statement is not None and "delete" in ast.unparse(statement).lower()


def binds(statement: ast.AST, name: str) -> bool:
    """Whether a statement binds a name, or calls a method that may set the field that it is."""
    owners = {name[:at] for at in range(len(name)) if name[at] == "."}
    calls = (node.func for node in ast.walk(statement) if isinstance(node, ast.Call)) if owners else ()
    methods = (one for one in calls if isinstance(one, ast.Attribute))
    return stores(statement, name) or any(dotted(one.value) in owners for one in methods)


def stores(statement: ast.AST, name: str) -> bool:
    """Whether a statement binds a name, or what stands before a dot in it."""
    bound = {name, *(name[:at] for at in range(len(name)) if name[at] == ".")}
    named = (node for node in ast.walk(statement) if isinstance(node, ast.Name | ast.Attribute))
    return any(not isinstance(node.ctx, ast.Load) and dotted(node) in bound for node in named)
