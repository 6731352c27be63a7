"""Indices and numbers of devices that go together although they are along different axes, also in loops over axes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.mixed_axes import INDEX, SIZES, SUM, axis_of, sizes_in, uses_of
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import AXIS_POSITIONS, COMMUNICATING, axis_argument
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External

IN_ORDER = frozenset({"reversed", "enumerate", "sorted", "list", "tuple", "zip"})
LASTS = frozenset(name.rpartition(".")[2] for name in (*COMMUNICATING, *SIZES, INDEX))
DEEPEST = 4


class Mixed(NamedTuple):
    """An expression that is about another axis than it should be, and what to say of it."""

    module: Module
    node: ast.expr
    message: str


def mixed(facts: Facts) -> Iterator[Mixed]:
    """Sizes of the first axis in each round of a loop over axes; indices compared to, or strided by, other sizes."""
    yield from _rounds(facts)
    told: set[ast.expr] = set()
    for module, index in facts.calls(INDEX.rpartition(".")[2]):
        if facts.resolver.value(index.func, module) != External(INDEX):
            continue
        axis = axis_of(index, INDEX, module, facts.resolver)
        for use in uses_of(index, module, facts.resolver) if axis else ():
            for found in (_compared(use, axis, module, facts), _strided(use, axis, module, facts)):
                if found is not None and found.node not in told:
                    told.add(found.node)
                    yield found


def _rounds(facts: Facts) -> Iterator[Mixed]:
    """`for axis in axes: size *= axis_size(axes[0])`."""
    for module, call in facts.calls(*LASTS):
        loop = module.table.loop_of(call)
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name | ast.Tuple):
            continue
        callee = facts.resolver.value(call.func, module)
        name = callee.name if isinstance(callee, External) else ""
        expression = axis_argument(name, call_arguments(call, module)) if name in AXIS_POSITIONS else None
        over = _iterated(loop.iter)
        match expression:
            case ast.Subscript(value=base, slice=ast.Constant(value=int())) if over and ast.unparse(base) == over:
                target = loop.target if isinstance(loop.target, ast.Name) else loop.target.elts[-1]
                text, own = ast.unparse(expression), ast.unparse(target)
                message = f"each round of this loop over {over} takes {text}: write {own}, the axis of the round"
                yield Mixed(module, call, message)


def _iterated(node: ast.expr) -> str:
    """What a loop goes through, in whatever order."""
    match node:
        case ast.Call(args=[inner, *_]) if last_name(node.func) in IN_ORDER:
            return _iterated(inner)
        case ast.Subscript(value=inner, slice=ast.Slice(lower=None, upper=None)):
            return _iterated(inner)
        case ast.Name() | ast.Attribute():
            return ast.unparse(node)
    return ""


def _outermost(use: ast.expr, module: Module) -> ast.expr:
    """An index with what is added to it or taken off: `index + 1`."""
    parents = module.table.parents
    above = parents.get(use)
    while isinstance(above, ast.BinOp) and isinstance(above.op, ast.Add | ast.Sub):
        other = above.right if above.left is use else above.left
        if not isinstance(other, ast.Constant):
            break
        use, above = above, parents.get(above)
    return use


def _compared(use: ast.expr, axis: str, module: Module, facts: Facts) -> Mixed | None:
    """`index == size - 1`, `(index + 1) % size`."""
    whole = _outermost(use, module)
    above = module.table.parents.get(whole)
    if isinstance(above, ast.Compare) and len(above.comparators) == 1:
        other = above.comparators[0] if above.left is whole else above.left
    elif isinstance(above, ast.BinOp) and isinstance(above.op, ast.Mod) and above.left is whole:
        other = above.right
    else:
        return None
    axes = {*sizes_in(other, module, facts.resolver, DEEPEST)}
    own = axes.pop() if len(axes) == 1 and _is_size(other, module, facts) else ""
    if own in ("", axis):
        return None
    message = (
        f"the index along '{axis}' goes with the number of devices along '{own}': write jax.lax.axis_size('{axis}')"
    )
    return Mixed(module, above, message)


def _is_size(node: ast.expr, module: Module, facts: Facts) -> bool:
    """Whether something is the number of devices along an axis, give or take a number."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return isinstance(node.right, ast.Constant) and _is_size(node.left, module, facts)
    held = facts.resolver.assigned(node, module)
    callee = facts.resolver.value(held.func, module) if isinstance(held, ast.Call) else None
    return isinstance(callee, External) and (callee.name in SIZES or callee.name == SUM)


def _strided(use: ast.expr, axis: str, module: Module, facts: Facts) -> Mixed | None:
    """`index_a * size_a + index_b`: several devices get one number."""
    product = module.table.parents.get(use)
    if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
        return None
    other = product.right if product.left is use else product.left
    total = module.table.parents.get(product)
    if not isinstance(total, ast.BinOp) or not isinstance(total.op, ast.Add) or not _is_size(other, module, facts):
        return None
    if {*sizes_in(other, module, facts.resolver, DEEPEST)} != {axis}:
        return None
    beside = total.right if total.left is product else total.left
    held = facts.resolver.assigned(beside, module)
    minor = ""
    if isinstance(held, ast.Call) and facts.resolver.value(held.func, module) == External(INDEX):
        minor = axis_of(held, INDEX, module, facts.resolver)
    if minor in ("", axis):
        return None
    message = (
        f"several devices get the same number: the index along '{axis}' counts as many as there are along "
        f"'{minor}'; write jax.lax.axis_size('{minor}')"
    )
    return Mixed(module, product, message)
