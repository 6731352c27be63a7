"""Edges of the neighbours' blocks that are put beside a block along a dimension that another axis splits."""

from __future__ import annotations

import ast

from jaxmigrate.flow.axis_values import bound
from jaxmigrate.flow.blocks.evidence import only_binding
from jaxmigrate.flow.blocks.inside import Inside
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import argument, axis_given
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Argument, Constant, External

JOINING = frozenset({"jax.numpy.concatenate", "jax.numpy.concat", "jax.lax.concatenate"})
SENDING = "jax.lax.ppermute"
CUTTING = frozenset({"slice_in_dim", "dynamic_slice_in_dim", "index_in_dim", "dynamic_index_in_dim", "take"})


def note_halos(it: Inside, node: ast.Call, arguments: tuple[Argument, ...]) -> None:
    """Notes what comes from a neighbour along an axis that splits another dimension than it is put along."""
    place = _place(it, argument(arguments, 1, "axis", "dimension"))
    parts = node.args[0].elts if isinstance(node.args[0], ast.Tuple | ast.List) else []
    if place is None or place < 0:
        return
    for one in parts:
        sent = _assigned(it, one)
        callee = it.resolver.value(sent.func, it.module) if isinstance(sent, ast.Call) else None
        if not isinstance(sent, ast.Call) or callee != External(SENDING) or not sent.args:
            continue
        axis = axis_given(SENDING, tuple(call_arguments(sent, it.module)))
        names = it.axes_of(axis)
        held = _cut(it, sent.args[0])
        beside = any(isinstance(other, ast.Name) and other.id == held.id for other in parts) if held else False
        found = it.block(held) if held is not None and beside else None
        if held is None or names is None or found is None or place >= len(found.dims):
            continue
        own, over = found.dims[place], frozenset(names)
        elsewhere = any(axes is not None and axes & over for n, axes in enumerate(found.dims) if n != place)
        if own and not own & over and elsewhere:
            given = axis.expression if axis is not None else None
            passed = isinstance(given, ast.Name) and it.is_parameter(given)
            if it.outer is not None and it.entering is not None and passed:
                it.outer.note_part(it.entering, held, over, "edge")  # where the axis is said
            else:
                it.note_part(sent, held, over, "edge")


def _place(it: Inside, given: Argument | None) -> int | None:
    """The dimension that an argument says; what a parameter was passed."""
    if given is None:
        return 0
    values = bound(it.resolver.argument_values(given), it.bindings)
    places = {one.value for one in values if isinstance(one, Constant) and isinstance(one.value, int)}
    return places.pop() if len(places) == len(values) == 1 else None


def _assigned(it: Inside, node: ast.expr) -> ast.expr:
    """What a name of the function holds, where that is one thing."""
    binding = only_binding(node, it.module) if isinstance(node, ast.Name) else None
    plain = binding is not None and binding.kind == "assign" and not binding.path
    return binding.value if binding is not None and plain and binding.value is not None else node


def _cut(it: Inside, node: ast.expr) -> ast.Name | None:
    """The block that something is the edge of."""
    node = _assigned(it, node)
    match node:
        case ast.Subscript(value=ast.Name() as held):
            return held
        case ast.Call(func=function, args=[ast.Name() as held, *_]) if last_name(function) in CUTTING:
            return held
    return None
