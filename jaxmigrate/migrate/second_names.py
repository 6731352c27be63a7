"""Second names of what has a name already, `loss = step_loss`, which an operation that is no more has left.

They go where the few reads of the one can be reads of the other.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

from jaxmigrate.migrate.names import NAMING
from jaxmigrate.program.modules import Module
from jaxmigrate.program.operations import Code, DropStatement, Operation, Part, Replace, ReplaceStatement, code
from jaxmigrate.program.scopes import Scope

FEW = 2  # reads that are changed


def without_second_names(before: Module, after: Module) -> Iterator[Operation]:
    """The operations that drop second names that a text before a rewrite had not."""
    own = Counter(map(_said, _renaming(before)))
    for statement in _renaming(after):
        if own[_said(statement)]:
            own[_said(statement)] -= 1
            continue
        yield from _dropped(statement, after)


def _renaming(module: Module) -> list[ast.Assign]:
    """The assignments in which some name is all that another one gets."""
    return [one for one in module.nodes if isinstance(one, ast.Assign) and any(_pairs(one))]


def _said(statement: ast.Assign) -> str:
    return ast.unparse(statement)


def _pairs(statement: ast.Assign) -> list[bool]:
    """For each target of an assignment whether a name gets what another name has; none where they do not pair."""
    targets, values = _sides(statement)
    return [_is_pair(*pair) for pair in zip(targets, values, strict=True)] if len(targets) == len(values) else []


def _is_pair(target: ast.expr, value: ast.expr) -> bool:
    return isinstance(target, ast.Name) and isinstance(value, ast.Name) and target.id != value.id


def _sides(statement: ast.Assign) -> tuple[Sequence[ast.expr], Sequence[ast.expr]]:
    """The targets of an assignment, and as many values where a tuple is taken apart at once."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            stars = any(isinstance(one, ast.Starred) for one in (*targets, *values))
            return ([], []) if stars else (targets, values)
        case ast.Assign(targets=[ast.Name() as target], value=value):
            return [target], [value]
    return [], []


def _dropped(statement: ast.Assign, module: Module) -> Iterator[Operation]:
    targets, values = _sides(statement)
    kept: list[int] = []
    for index, is_pair in enumerate(_pairs(statement)):
        target, value = targets[index], values[index]
        reads = _reads(statement, target, value, module) if is_pair else None
        if reads is None:
            kept.append(index)
            continue
        assert isinstance(value, ast.Name)
        yield from (Replace(read, code(value.id)) for read in reads)
    if len(kept) == len(targets):
        return
    if not kept:
        yield DropStatement(statement)
        return
    left, right = ([f"${side}{i}" for i in kept] for side in ("t", "v"))
    parts: dict[str, Part] = {**{f"t{i}": targets[i] for i in kept}, **{f"v{i}": values[i] for i in kept}}
    yield ReplaceStatement(statement, Code(f"{', '.join(left)} = {', '.join(right)}", parts))


def _reads(statement: ast.Assign, target: ast.expr, value: ast.expr, module: Module) -> list[ast.Name] | None:
    """The reads of a second name, where they can be reads of the first; None where they cannot."""
    assert isinstance(target, ast.Name)
    assert isinstance(value, ast.Name)
    table = module.table
    scope, beside = table.scope_of.get(statement), table.block_of(statement)
    if scope is None or scope.kind != "function" or len(beside) < 2 or len(scope.bindings.get(target.id, ())) != 1:
        return None
    if not _is_own(value.id, scope) or not _is_own(target.id, scope) or _asks_for_names(scope, target.id):
        return None
    every = [one for one in table.named.get(target.id, ()) if isinstance(one, ast.Name) and one is not target]
    reads = [one for one in every if table.scope_of[one].lookup(target.id) is scope]
    if not 0 < len(reads) <= FEW or not all(isinstance(one.ctx, ast.Load) for one in reads):
        return None
    below = beside[beside.index(statement) + 1 :]
    last = -1
    for read in reads:
        at = next((i for i, one in enumerate(below) if any(inner is read for inner in ast.walk(one))), None)
        if at is None or table.scope_of[read] is not scope:
            return None
        last = max(last, at)
    seen = below[: last + 1]
    *others, end = seen
    if any(_binds(one, value.id) for one in others) or _binds(
        end.value if isinstance(end, ast.Assign) else end, value.id
    ):
        return None
    return reads


def _is_own(name: str, scope: Scope) -> bool:
    """Whether a name is one of a function, and of no function within it by `nonlocal`."""
    return name in scope.bindings and not any(name in one.outer_names for one in (scope, *scope.below()))


def _asks_for_names(scope: Scope, name: str) -> bool:
    """Whether a function may read its variables by what they are called: `locals()`, `f"{loss=}"`."""
    for one in ast.walk(scope.node):
        if isinstance(one, ast.Name) and one.id in NAMING:
            return True
        if isinstance(one, ast.JoinedStr) and any(
            isinstance(part, ast.Constant) and f"{name}=" in str(part.value).replace(" ", "") for part in one.values
        ):
            return True
    return False


def _binds(node: ast.AST, name: str) -> bool:
    """Whether some code may bind a name anew, or delete it."""
    for one in ast.walk(node):
        match one:
            case ast.Name(id=found, ctx=ast.Store() | ast.Del()) if found == name:
                return True
            case ast.FunctionDef(name=found) | ast.AsyncFunctionDef(name=found) | ast.ClassDef(name=found):
                if found == name:
                    return True
            case ast.alias(name=found, asname=other) if name in (other, found.partition(".")[0]):
                return True
            case ast.ExceptHandler(name=found) | ast.MatchAs(name=found) | ast.MatchStar(name=found):
                if found == name:
                    return True
            case ast.MatchMapping(rest=found) if found == name:
                return True
    return False
