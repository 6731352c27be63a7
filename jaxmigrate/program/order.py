"""Which bindings of a name can be what is read in the scope that binds it, as the order of statements tells.

A name that is bound anew stands for what the nearest statement above gave it, not for what comes later or on the other
way of a branch. Loops run what is below before what is above, and what functions bind by `nonlocal` or `global` is
bound at any time.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import Binding

LOOPS = ast.For | ast.AsyncFor | ast.While
FRAMES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
PLAIN = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign | ast.ImportFrom


def reaching(bindings: list[Binding], use: ast.Name, module: Module) -> list[Binding]:
    """Those of a scope's bindings of a name that a read in that very scope can see; all where order does not tell."""
    owner = bindings[0].scope.node
    around = _around(use, owner, module)
    statement = next((node for node in around if isinstance(node, ast.stmt)), None)
    if statement is None:
        return bindings
    places = [(binding, _statement(binding, owner, module)) for binding in bindings]
    own = [at for b, at in places if isinstance(at, PLAIN) and b.kind != "other" and not isinstance(b.node, ast.expr)]
    hiding = max((at for at in own if _runs_before(at, around, module)), key=_start, default=None)
    cell = _cell(statement, module)
    if cell is not None and (hiding is None or _cell(hiding, module) != cell):
        return bindings  # cells may run in any order
    first = _start(hiding) if hiding is not None else (0, 0)
    rounds = [n for n in around if isinstance(n, LOOPS) and (hiding is None or not _holds(n, hiding))]
    found: list[Binding] = []
    for binding, at in places:
        if at is None:
            seen = hiding is None or binding.kind != "param"
        elif at is statement and isinstance(binding.node, ast.expr):
            seen = True  # `:=`
        else:
            seen = first <= _start(at) and _may_precede(at, statement, around, rounds, module)
        found += [binding] if seen else []
    return found or bindings


def outlasting(bindings: list[Binding], use: ast.expr, module: Module) -> list[Binding]:
    """Those of a function's bindings of a name that a function in it can see, whenever that is called.

    What is bound above the inner function is hidden by what is bound between the two; all that comes later counts, and
    so does what a loop around the inner function comes round to, in which an earlier one may be called.
    """
    owner = bindings[0].scope.node
    around = _around(use, owner, module)
    inner = next((at for at, node in reversed([*enumerate(around)]) if isinstance(node, FRAMES)), None)
    if inner is None:
        return bindings
    outside = around[inner:]
    places = [(binding, _statement(binding, owner, module)) for binding in bindings]
    own = [at for b, at in places if isinstance(at, PLAIN) and b.kind != "other" and not isinstance(b.node, ast.expr)]
    hiding = max((at for at in own if _runs_before(at, outside, module)), key=_start, default=None)
    if hiding is None:
        return bindings
    rounds = [node for node in outside if isinstance(node, LOOPS)]
    found: list[Binding] = []
    for binding, at in places:
        if at is None:
            found += [binding] if binding.kind != "param" else []
        elif _start(hiding) <= _start(at) or any(_holds(loop, at) for loop in rounds):
            found.append(binding)
    return found


def _around(node: ast.AST, owner: ast.AST, module: Module) -> list[ast.AST]:
    """A node and what it stands in, up to the owner of its scope, which is left out."""
    found: list[ast.AST] = []
    current: ast.AST | None = node
    while current is not None and current is not owner:
        found.append(current)
        current = module.table.parents.get(current)
    return found


def _statement(binding: Binding, owner: ast.AST, module: Module) -> ast.stmt | None:
    """The statement of a scope that makes a binding; None for parameters and for what other functions bind."""
    statement: ast.stmt | None = None
    for node in _around(binding.node, owner, module):
        if isinstance(node, FRAMES) and node is not binding.node:
            return None
        statement = node if statement is None and isinstance(node, ast.stmt) else statement
    return statement


def _runs_before(statement: ast.stmt, around: Sequence[ast.AST], module: Module) -> bool:
    """Whether a statement runs before a use whenever that does: it stands above it, or above what that stands in."""
    parent = module.table.parents.get(statement)
    for node in around:
        if module.table.parents.get(node) is parent and parent is not None:
            return _start(statement) < _start(node) and _in_one_list(statement, node, parent)
    return False


def _may_precede(
    at: ast.stmt, use: ast.stmt, around: Sequence[ast.AST], rounds: Collection[ast.AST], module: Module
) -> bool:
    """Whether a binding may be made before a use: not where it comes later, or on another way, out of all loops."""
    if any(_holds(loop, at) for loop in rounds):
        return True
    if at is use:
        return not isinstance(at, PLAIN)
    return _start(at) <= _start(use) and not _on_another_way(at, around, module)


def _on_another_way(at: ast.stmt, around: Sequence[ast.AST], module: Module) -> bool:
    """Whether a binding and a use stand on different ways of a branch."""
    parents = module.table.parents
    node: ast.AST = at
    while node in parents and node not in around:
        parent = parents[node]
        if isinstance(parent, ast.If | ast.Match) and parent in around:
            other = around[around.index(parent) - 1]
            return isinstance(other, ast.stmt | ast.match_case) and not (
                isinstance(parent, ast.If) and _in_one_list(node, other, parent)
            )
        node = parent
    return False


def _in_one_list(one: ast.AST, other: ast.AST, parent: ast.AST) -> bool:
    """Whether two statements stand in one list of the statement around them, and not behind `if` and `else`."""
    lists = [v for _, v in ast.iter_fields(parent) if isinstance(v, list)]
    return any(one in found and other in found for found in lists)


def _holds(loop: ast.AST, statement: ast.stmt) -> bool:
    """Whether a statement stands in a loop."""
    return isinstance(loop, LOOPS) and loop.lineno <= statement.lineno <= (loop.end_lineno or 0)


def _cell(statement: ast.stmt, module: Module) -> int | None:
    """The number of the cell that holds a statement, None outside of notebooks."""
    starts = [cell.header for cell in module.cells]
    return sum(start <= statement.lineno for start in starts) if starts else None


def _start(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
