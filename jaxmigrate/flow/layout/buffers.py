"""Host buffers that a program writes into: a split of one is a view of it, which a copy on the devices is not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import Scope

WRITERS = frozenset({"fill", "sort", "partition", "put", "itemset", "resize", "setfield", "byteswap", "readinto"})
WRITING_CALLS = frozenset({"copyto", "put", "putmask", "place", "fill_diagonal", "put_along_axis", "shuffle"})


def is_written(operand: ast.expr, module: Module) -> bool:
    """Whether some name that an operand is made of, or is a view of, is written to in place anywhere it can be seen."""
    names = _sources(operand, module)
    return bool(names) and any(written in names for written in _written(module))


def is_result_written(node: ast.expr, module: Module) -> bool:
    """Whether a variable that an expression is assigned to is written to in place."""
    parent = module.table.parents.get(node)
    targets = parent.targets if isinstance(parent, ast.Assign) else []
    names = {name for target in targets for name in _named(target, module)}
    return bool(names) and any(written in names for written in _written(module))


def _sources(operand: ast.expr, module: Module) -> set[tuple[int, str]]:
    """The variables that an expression reads, and those that they are made of; attributes by their name alone."""
    found: set[tuple[int, str]] = set()
    waiting = [operand]
    while waiting:
        for node in ast.walk(waiting.pop()):
            if isinstance(node, ast.Attribute):
                found.add((0, node.attr))
            if not isinstance(node, ast.Name) or node not in module.table.scope_of:
                continue
            holder = module.table.scope_of[node].lookup(node.id)
            if holder is None or (key := (id(holder), node.id)) in found:
                continue
            found.add(key)
            waiting += [b.value for b in holder.bindings[node.id] if b.value is not None]
            waiting += [i for b in holder.bindings[node.id] for i in _iterated(b.node, module)]
    return found


def _iterated(node: ast.AST, module: Module) -> list[ast.expr]:
    """What a loop variable goes through."""
    parent = module.table.parents.get(node)
    while isinstance(parent, ast.Tuple | ast.List | ast.Starred):
        parent = module.table.parents.get(parent)
    return [parent.iter] if isinstance(parent, ast.For | ast.comprehension) else []


def _written(module: Module) -> Iterator[tuple[int, str]]:
    """The variables and attributes that a module writes into."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Subscript(value=target, ctx=ast.Store()):
                yield from _named(target, module)
            case ast.AugAssign(target=ast.Name() | ast.Attribute() as target):
                yield from _named(target, module)
            case ast.Call(func=ast.Attribute(value=target, attr=attr), args=args, keywords=keywords):
                if attr in WRITERS:
                    yield from _named(target, module)
                if attr in WRITING_CALLS and args:
                    yield from _named(args[0], module)
                for keyword in keywords:
                    if keyword.arg == "out":
                        yield from _named(keyword.value, module)


def _named(target: ast.expr, module: Module) -> Iterator[tuple[int, str]]:
    """The variable or attribute of which a target is a part."""
    while isinstance(target, ast.Subscript):
        target = target.value
    if isinstance(target, ast.Attribute):
        yield 0, target.attr
    elif isinstance(target, ast.Name):
        scope: Scope | None = module.table.scope_of.get(target)
        holder = scope.lookup(target.id) if scope is not None else None
        if holder is not None:
            yield id(holder), target.id
