"""What a `PositionalSharding` says, as axes of a mesh: which of them each dimension of an array is split by."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

LETTERS = ("x", "y", "z")
ALONE = "devices"
Dimension = tuple[str, ...]


class Layout(NamedTuple):
    """How arrays lie on devices.

    Attributes:
        mesh: The axes of the mesh, in its order.
        split: The axes that each dimension is split by; None where the shape of the devices is out of sight.
        reshaped: The shape, as source, that the devices took before they were named; empty where they keep theirs.
    """

    mesh: tuple[str, ...]
    split: tuple[Dimension, ...] | None
    reshaped: tuple[str, ...] = ()


def layout_of(shape: Sequence[int | None] | None) -> Layout:
    """The layout of an array of devices of a shape: None for a length, or a shape, that is out of sight."""
    if shape is None:
        return Layout((ALONE,), None)
    names = mesh_names(len(shape))
    return Layout(names, tuple((name,) for name in names))


def mesh_names(count: int) -> tuple[str, ...]:
    """Names for the axes of a mesh that had none."""
    if count == 1:
        return (ALONE,)
    return LETTERS[:count] if count <= len(LETTERS) else tuple(f"{ALONE}_{i}" for i in range(count))


def reshaped(layout: Layout, call: ast.Call) -> Layout | None:
    """The layout after `.reshape`; None where its dimensions cannot be matched to axes of a mesh."""
    shape = call.args[0].elts if len(call.args) == 1 and isinstance(call.args[0], ast.Tuple | ast.List) else call.args
    if call.keywords or any(isinstance(one, ast.Starred) for one in shape):
        return None
    if len(shape) == 1 and not isinstance(shape[0], ast.Constant | ast.UnaryOp) and shape is call.args:
        return None  # a name may hold a whole shape
    long = [one for one in shape if not _is_one(one)]
    split = [axis for dimension in layout.split or (layout.mesh,) for axis in dimension]
    if not long:
        return layout._replace(split=((),) * len(shape)) if not split else None
    if len(long) == 1 and split:
        return layout._replace(split=tuple(() if _is_one(one) else tuple(split) for one in shape))
    if tuple(split) != layout.mesh or layout.reshaped:
        return None
    names = iter(mesh_names(len(long)))
    each = tuple(() if _is_one(one) else (next(names),) for one in shape)
    return Layout(mesh_names(len(long)), each, tuple(ast.unparse(one) for one in long))


def replicated(layout: Layout, call: ast.Call) -> Layout | None:
    """The layout after `.replicate`; None where it is out of sight which dimensions that is."""
    given = dict(zip(("axis", "keepdims"), call.args, strict=False)) | {k.arg or "": k.value for k in call.keywords}
    try:
        axis = ast.literal_eval(given.get("axis", ast.Constant(None)))
        keeps = ast.literal_eval(given.get("keepdims", ast.Constant(value=True)))
    except ValueError:
        return None
    if axis is None:
        return layout._replace(split=() if layout.split is None or not keeps else ((),) * len(layout.split))
    if layout.split is None or not isinstance(axis, int | tuple) or not set(given) <= {"axis", "keepdims"}:
        return None
    count = len(layout.split)
    places = {place % count for place in (axis if isinstance(axis, tuple) else (axis,))}
    kept = enumerate(layout.split)
    return layout._replace(split=tuple(() if i in places else d for i, d in kept if keeps or i not in places))


def transposed(layout: Layout, call: ast.Call | None) -> Layout | None:
    """The layout after `.T` or `.transpose`."""
    if layout.split is None:
        return None
    order = list(range(len(layout.split)))[::-1]
    if call is not None and call.args:
        try:
            given = [ast.literal_eval(one) for one in call.args]
        except ValueError:
            return None
        order = list(given[0]) if len(given) == 1 and isinstance(given[0], tuple | list) else given
    return layout._replace(split=tuple(layout.split[place] for place in order))


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def spec_of(layout: Layout, spec: str) -> str:
    """The source of a PartitionSpec, of the length of the last dimension that is split."""
    split = list(layout.split or ())
    while split and not split[-1]:
        split.pop()
    written = [", ".join(f'"{axis}"' for axis in dimension) or "None" for dimension in split]
    parts = [f"({one})" if len(dimension) > 1 else one for one, dimension in zip(written, split, strict=True)]
    return f"{spec}({', '.join(parts)})"


def names_of(layout: Layout) -> str:
    """The source of the tuple of the mesh's axes."""
    inner = ", ".join(f'"{axis}"' for axis in layout.mesh)
    return f"({inner},)" if len(layout.mesh) == 1 else f"({inner})"
