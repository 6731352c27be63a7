"""What an index makes of a block."""

from __future__ import annotations

import ast

from jaxmigrate.flow.blocks.block import WHOLE, Axes, Block
from jaxmigrate.flow.blocks.evidence import only_binding
from jaxmigrate.flow.blocks.inside import Inside, OwnPart, is_literal
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import argument
from jaxmigrate.program.values import External

INDEX = "jax.lax.axis_index"


def indexed(it: Inside, held: ast.expr, index: ast.expr) -> Block | None:
    """What an index makes of a block."""
    found = it.block(held)
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    if found is None or not all(isinstance(one, ast.Constant | ast.Slice) for one in parts):
        return None
    taking = [one for one in parts if not is_literal(one, None) and not is_literal(one, ...)]
    if any(is_literal(one, ...) for one in parts) and not found.sure:
        return None
    rest = list(found.dims)
    if not found.sure:
        rest += [WHOLE] * (len(taking) - len(rest))
    if len(taking) > len(rest):
        return None
    filled = len(rest) - len(taking)
    if not any(is_literal(one, ...) for one in parts):
        parts = [*parts, ast.Constant(...)]
    dims: list[Axes] = []
    for one in parts:
        if is_literal(one, None):
            dims.append(WHOLE)
        elif is_literal(one, ...):
            dims += rest[:filled]
            rest = rest[filled:]
        else:
            axes = rest.pop(0)
            dims += [axes] if isinstance(one, ast.Slice) else []
    return found._replace(dims=tuple(dims))


def note_cut(it: Inside, held: ast.expr, index: ast.expr, position: int) -> None:
    """Notes where each device takes the first rows of an argument that it has whole, as many as a block has."""
    upper = index.upper if isinstance(index, ast.Slice) and index.step is None else None
    if upper is None or not isinstance(held, ast.Name) or not it.is_parameter(held) or held.id not in it.given:
        return
    starts = index.lower if isinstance(index, ast.Slice) else None
    block = it.given[held.id]
    whole = position >= len(block.dims) or block.dims[position] == WHOLE
    if whole and (starts is None or is_literal(starts, 0)):
        it.note_part(held, held, it.split_length(upper), "first rows")


def choose(it: Inside, node: ast.expr, held: ast.expr, index: ast.expr, position: int) -> None:
    """Notes where the index of the device along an axis chooses along a dimension that this axis has split.

    In what the function is given itself: of what is summed over the devices, each may well take another part.
    """
    found = it.block(held) if isinstance(held, ast.Name) and it.is_parameter(held) else None
    binding = only_binding(index, it.module) if isinstance(index, ast.Name) else None
    made = binding.value if binding is not None and binding.kind == "assign" and not binding.path else index
    if found is None or position >= len(found.dims) or not isinstance(made, ast.Call):
        return
    if it.resolver.value(made.func, it.module) != External(INDEX):
        return
    axis = argument(call_arguments(made, it.module), 0, "axis_name")
    names = it.axes_of(axis)
    if names is not None and len(names) == 1 and names[0] in (found.dims[position] or ()):
        it.chosen.append(OwnPart(it.module, node, held, names[0]))


def sliced(it: Inside, node: ast.Call, held: ast.expr, starts: ast.expr) -> Block | None:
    """A part of an array; notes where each device takes its own of what it has only a partial sum of."""
    found = it.block(held)
    if found is None:
        return None
    own = frozenset(axis for axis in found.partial if axis in _indexed_by(it, starts))
    it.note_part(node, held, own, "sliced")
    return found._replace(dims=(None,) * len(found.dims), partial=found.partial - own)


def _indexed_by(it: Inside, starts: ast.expr) -> frozenset[str]:
    """The axes by whose index of the device something starts."""
    names: set[str] = set()
    for one in ast.walk(starts):
        binding = only_binding(one, it.module) if isinstance(one, ast.Name) else None
        made = binding.value if binding is not None and binding.kind == "assign" and not binding.path else one
        for call in ast.walk(made) if made is not None else ():
            if isinstance(call, ast.Call) and it.resolver.value(call.func, it.module) == External(INDEX):
                names.update(it.axes_of(argument(call_arguments(call, it.module), 0, "axis_name")) or ())
    return frozenset(names)
