"""Axes in specs that are put together entry by entry: `P(*entries)`, of a list or of what a function returns."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.values import Function

DEEPEST = 4


def starred_axes(call: ast.Call, module: Module, resolver: Resolver) -> Iterator[tuple[Module, ast.Constant]]:
    """The names that stand for entries in what a spec unpacks."""
    for one in call.args:
        if isinstance(one, ast.Starred):
            yield from _entries(one.value, module, resolver, 0)


def _entries(node: ast.expr, module: Module, resolver: Resolver, depth: int) -> Iterator[tuple[Module, ast.Constant]]:
    """The strings in a sequence of entries."""
    if depth > DEEPEST:
        return
    match node:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for one in elements:
                yield from _entry(one, module, resolver, depth)
        case ast.BinOp(left=left, right=right):
            yield from _entries(left, module, resolver, depth)
            yield from _entries(right, module, resolver, depth)
        case ast.IfExp(body=one, orelse=other):
            yield from _entries(one, module, resolver, depth)
            yield from _entries(other, module, resolver, depth)
        case ast.Subscript(value=inner, slice=ast.Slice()) | ast.Call(func=ast.Name(id="tuple" | "list"), args=[inner]):
            yield from _entries(inner, module, resolver, depth)
        case ast.Name():
            yield from _named(node, module, resolver, depth)
        case ast.Call():
            made = _function(node, module, resolver)
            for returned in returned_by(made.node) if made is not None else ():
                if returned is not None and made is not None:
                    yield from _entries(returned, made.module, resolver, depth + 1)


def _function(call: ast.Call, module: Module, resolver: Resolver) -> Function | None:
    """The function that a call is of; of several by one name, that which is defined in the same block."""
    found = [one for one in resolver.values(call.func, module) if isinstance(one, Function)]
    node: ast.AST | None = call
    while len(found) > 1 and node is not None:
        block = [n for name in ("body", "orelse") if isinstance(held := getattr(node, name, None), list) for n in held]
        near = [one for one in found if one.node in block]
        found, node = near or found, module.table.parents.get(node)
    return found[0] if len(found) == 1 else None


def _entry(node: ast.expr, module: Module, resolver: Resolver, depth: int) -> Iterator[tuple[Module, ast.Constant]]:
    """The strings in one entry: an axis, several, or one of two."""
    match node:
        case ast.Constant(value=str()):
            yield module, node
        case ast.Starred(value=inner):
            yield from _entries(inner, module, resolver, depth)
        case ast.IfExp(body=one, orelse=other):
            yield from _entry(one, module, resolver, depth)
            yield from _entry(other, module, resolver, depth)
        case ast.Tuple(elts=elements):
            for one in elements:
                yield from _entry(one, module, resolver, depth)


def _named(name: ast.Name, module: Module, resolver: Resolver, depth: int) -> Iterator[tuple[Module, ast.Constant]]:
    """What a list is made with, and what is stored in it or appended in the same function."""
    scope = module.table.scope_of[name]
    bindings = resolver.bindings(name.id, scope)
    since = _made_anew(name, bindings, module)
    for binding in bindings:
        if since and not since <= getattr(binding.node, "lineno", 0) <= name.lineno:
            continue
        if binding.value is not None and not binding.path:
            yield from _entries(binding.value, module, resolver, depth + 1)
    for other in module.table.named.get(name.id, ()):
        if other not in module.table.scope_of or module.table.scope_of[other] is not scope:
            continue
        if since and not since <= other.lineno <= name.lineno:
            continue
        above = module.table.parents.get(other)
        store = module.table.parents.get(above) if above is not None else None
        match above, store:
            case ast.Subscript(slice=index), ast.Assign(value=value) if above in store.targets and not isinstance(
                index, ast.Slice
            ):
                yield from _entry(value, module, resolver, depth)
            case ast.Attribute(attr="append"), ast.Call(args=[value]):
                yield from _entry(value, module, resolver, depth)


def _made_anew(name: ast.Name, bindings: Sequence[Binding], module: Module) -> int:
    """The line above a read where a list that is made several times is made for it; 0 where that is not in sight."""
    around: list[ast.AST] = []
    node: ast.AST | None = name
    while node is not None and not isinstance(node, ast.FunctionDef | ast.Lambda | ast.Module):
        around.append(node)
        node = module.table.parents.get(node)
    blocks = [block for one in around if isinstance(one, ast.stmt) and (block := module.table.block_of(one))]
    above = (one.node for one in bindings if isinstance(one.node, ast.Assign) and one.node.lineno < name.lineno)
    return max((one.lineno for one in above if any(one in block for block in blocks)), default=0)
