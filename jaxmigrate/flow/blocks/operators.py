"""What operators and products make of blocks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.flow.blocks.block import NOWHERE, Axes, Block, broadcast, product
from jaxmigrate.flow.blocks.evidence import only_binding
from jaxmigrate.flow.blocks.inside import Clash, Inside
from jaxmigrate.flow.blocks.parts import Part, is_transposed, rejoined

_VECTORS = re.compile(r"(^|_)(norm|scale|bias|gamma|beta|gain)\d*(_|$)")


def together_with(it: Inside, node: ast.expr, nodes: list[ast.expr]) -> Block | None:
    """What an operation on each element of several gives; notes where statistics of a block meet its features."""
    found = [it.block(one) for one in nodes]
    known = [one for one in found if one is not None]
    axes = rejoined(known)
    mixed = frozenset[str]().union(*(one.local.mixed for one in known)) & axes
    if mixed:
        module, origin = it.mixtures.get(min(mixed), (it.module, node))
        it.parts.append(Part(module, origin, origin, mixed, "mixed"))
    else:
        it.note_part(node, nodes[-1], axes, "statistic")
    return broadcast(known) if len(known) == len(found) else None


def operated(it: Inside, node: ast.expr, op: ast.operator, left: ast.expr, right: ast.expr) -> Block | None:
    """What an operator gives; what it makes of sums of a device's block alone."""
    made = together_with(it, node, [left, right])
    one, other = it.block(left), it.block(right)
    if isinstance(op, ast.Div) and one is not None and one.local.added:
        it.note_part(node, right, one.local.added & it.split_length(right), "length")
    if made is None:
        return None
    if one is not None and other is not None:
        mixed = (one.own & other.local.whole) | (other.own & one.local.whole)
        for axis in mixed:
            it.mixtures.setdefault(axis, (it.module, node))
        made = made._replace(local=made.local._replace(mixed=made.local.mixed | mixed))
    if isinstance(op, ast.Sub) and other is not None and other.local.peak:
        return made._replace(local=made.local._replace(peak=NOWHERE.peak, offset=other.local.peak))
    if isinstance(op, ast.Add | ast.Sub):
        return made
    lasting = made.local.lasting()._replace(offset=NOWHERE.offset)  # that may have been set right
    if isinstance(op, ast.Div):
        return made._replace(local=lasting._replace(ratio=other.local.total if other is not None else frozenset()))
    if isinstance(op, ast.Mult) and one is not None and other is not None:
        scalars = [side.local for side in (one, other) if side.local != NOWHERE or side.dims]
        if len(scalars) == 1:
            return made._replace(local=lasting._replace(total=scalars[0].total, inner=scalars[0].inner))
    return made._replace(local=lasting)


def note_whole_terms(it: Inside, node: ast.expr, held: ast.expr, axes: frozenset[str]) -> None:
    """Notes what every device adds to partial sums before they are added up: a bias, or what goes round a block.

    Only what the function is given, as it stands there: of what it computes, all but one device may have zeros.
    """
    for term in _terms(it, held):
        given = term
        while isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Constant | ast.Tuple):
            given = given.value
        found = it.block(term)
        if found is None or not isinstance(given, ast.Name) or not it.is_parameter(given) or found.partial & axes:
            continue
        if None not in found.dims and not any(dim & axes for dim in found.dims if dim):
            it.note_part(node, term, axes, "added")


def _terms(it: Inside, node: ast.expr) -> Iterator[ast.expr]:
    """The terms of a sum, behind the names of the function that hold one."""
    binding = only_binding(node, it.module) if isinstance(node, ast.Name) else None
    assigned = binding.value if binding is not None and binding.kind == "assign" and not binding.path else None
    match assigned or node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from _terms(it, left)
            yield from _terms(it, right)
        case _:
            yield node


def note_curved(it: Inside, node: ast.expr, held: ast.expr) -> None:
    """Notes where something that is not linear is done to partial sums."""
    found = it.block(held)
    if found is not None:
        it.note_part(node, held, found.partial, "nonlinear")


def note_scaled(it: Inside, node: ast.expr, left: ast.expr, right: ast.expr) -> None:
    """Notes where a vector that is split, and that is for the last dimension by its name, meets one that is whole.

    A vector with one number for each device has another name, and fits whatever it meets.
    """
    for one, vector in ((left, right), (right, left)):
        block, whole = it.block(vector), it.block(one)
        named = isinstance(vector, ast.Name) and _VECTORS.search(vector.id)
        if not named or block is None or whole is None or len(block.dims) != 1 or len(whole.dims) < 2:
            continue
        axes, last = block.dims[0], whole.dims[-1]
        if axes and last is not None and not last:
            it.clashes.append(Clash(it.module, node, one, vector, (last, axes)))


def product_of(it: Inside, node: ast.expr, left: ast.expr, right: ast.expr) -> Block | None:
    """A product of two matrices, which sums over the last dimension of one and the first of the other."""
    one, other = it.block(left), it.block(right)
    if one is None or other is None:
        return None
    fits = compare(it, node, (left, one.last), (right, other.rows))
    made = product(one, other) if fits else None
    return made._replace(partial=one.partial | other.partial) if made is not None and is_transposed(left) else made


def compare(it: Inside, node: ast.expr, *sides: tuple[ast.expr, Axes]) -> bool:
    """Whether dimensions that are summed over together are split alike; notes where not."""
    known = [(side, axes) for side, axes in sides if axes is not None]
    for side, axes in known[1:]:
        first, split = known[0]
        if axes != split:
            it.clashes.append(Clash(it.module, node, first, side, (split, axes)))
            return False
    return True
