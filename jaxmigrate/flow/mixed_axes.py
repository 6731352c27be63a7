"""Numbers of the devices along one axis that are used for those along another.

Neither JAX nor a run on a mesh with as many devices along both axes says anything of it.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from jaxmigrate.flow.axis_values import axis_names
from jaxmigrate.flow.facts import Facts
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import argument, axis_argument
from jaxmigrate.program.library import named, valued
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import External

INDEX = "jax.lax.axis_index"
SUM = "jax.lax.psum"
SIZES = named("axis-size")
PERMUTED = {name: int(position) for name, position in valued("perm").items()}
DEEPEST = 4  # names of names
Found = tuple[Module, ast.expr, str, str]  # where, the axis that is used, the axis that the number is of


def permutations(facts: Facts) -> Iterator[Found]:
    """Permutations made for the devices along one axis, by which devices along another send.

    A list that as many calls use for the one axis as for the other is taken for one of a square mesh.
    """
    uses: list[tuple[Module, ast.Call, ast.expr, str]] = []
    for module, call in facts.calls(*(name.rpartition(".")[2] for name in PERMUTED)):
        callee = facts.resolver.value(call.func, module)
        if isinstance(callee, External) and callee.name in PERMUTED:
            given = argument(call_arguments(call, module), PERMUTED[callee.name], "perm")
            axis = axis_of(call, callee.name, module, facts.resolver)
            if axis and given is not None and given.expression is not None:
                uses.append((module, call, facts.resolver.assigned(given.expression, module), axis))
    times = Counter((made, axis) for _, _, made, axis in uses)
    for module, call, made, axis in uses:
        sizes = set(sizes_in(made, module, facts.resolver, DEEPEST))
        own = next(iter(sizes)) if len(sizes) == 1 else ""
        if own not in ("", axis) and (not times[made, own] or times[made, own] >= 2 * times[made, axis]):
            yield module, call, axis, own


def offsets(facts: Facts) -> Iterator[Found]:
    """Indices along one axis, times a part of what is divided among the devices along another."""
    seen: set[ast.expr] = set()
    for module, index in facts.calls(INDEX.rpartition(".")[2]):
        if facts.resolver.value(index.func, module) != External(INDEX):
            continue
        axis = axis_of(index, INDEX, module, facts.resolver)
        for use in uses_of(index, module, facts.resolver) if axis else ():
            product = module.table.parents.get(use)
            if isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult) and index not in seen:
                other = product.right if product.left is use else product.left
                own = _divided_among(other, module, facts.resolver)
                if own not in ("", axis):
                    seen.add(index)
                    yield module, index, axis, own


def uses_of(index: ast.Call, module: Module, resolver: Resolver) -> Iterator[ast.expr]:
    """Where an index is used: itself, or the names that it alone is assigned to."""
    yield index
    statement = module.table.parents.get(index)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    target = statement.targets[0]
    if isinstance(target, ast.Name):
        for node in module.table.named.get(target.id, ()):
            if isinstance(node, ast.Name) and node is not target and resolver.assigned(node, module) is index:
                yield node


def _divided_among(node: ast.expr, module: Module, resolver: Resolver) -> str:
    """The axis in `length // axis_size(axis)`, where the length has nothing to do with the number of devices."""
    node = resolver.assigned(node, module)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.FloorDiv):
        return ""
    if {*sizes_in(node.left, module, resolver, DEEPEST)}:
        return ""
    axes = {*sizes_in(node.right, module, resolver, DEEPEST)}
    return axes.pop() if len(axes) == 1 and isinstance(node.right, ast.Name | ast.Call) else ""


def sizes_in(node: ast.expr, module: Module, resolver: Resolver, depth: int) -> Iterator[str]:
    """The axes whose number of devices an expression, or what its names were assigned, mentions; empty for unknown."""
    for one in ast.walk(node):
        match one:
            case ast.Call():
                callee = resolver.value(one.func, module)
                name = callee.name if isinstance(callee, External) else ""
                if name in SIZES or (name == SUM and one.args and isinstance(one.args[0], ast.Constant)):
                    yield axis_of(one, name, module, resolver)
            case ast.Name(ctx=ast.Load()) if depth and one in module.table.scope_of:
                behind = resolver.assigned(one, module)
                if behind is not one:
                    yield from sizes_in(behind, module, resolver, depth - 1)


def axis_of(call: ast.Call, name: str, module: Module, resolver: Resolver) -> str:
    """The one axis that a call names; empty where that is not known, or several are."""
    names = axis_names(axis_argument(name, call_arguments(call, module)), module, resolver, {})
    return names[0] if names is not None and len(names) == 1 else ""
