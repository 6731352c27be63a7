"""JAX's control flow, and what communicates between devices, by shapes."""
# ruff: noqa: ARG001 - handlers of one table take the same arguments

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from jaxmigrate.flow.axes import shown as shown_names
from jaxmigrate.flow.shapes.arrays import MisfitError, shown
from jaxmigrate.flow.shapes.running import Run
from jaxmigrate.flow.shapes.values import (
    SCALAR,
    UNKNOWN,
    Array,
    Dim,
    Frame,
    Given,
    Thing,
    array_of,
    dim_of,
    is_container,
    joined,
    mapped,
)

SUMS = ("psum", "pmean")
ASKING = ("axis_index", "axis_size")  # which communicate nothing


def leaves(tree: Thing) -> list[Thing]:
    """The leaves of a tree."""
    if not is_container(tree):
        return [] if tree is None else [tree]
    parts = tree.values() if type(tree) is dict else tree
    return [leaf for one in parts for leaf in leaves(one)]


def _scan(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    function, start, rows = given.find(0, "f"), given.find(1, "init"), given.find(2, "xs")
    length = dim_of(given.find(3, "length"))
    row = mapped(_row, rows)
    found = [one for one in leaves(rows) if isinstance(one, Array) and one.dims]
    if any(one.split and one.split[0] for one in found):
        raise MisfitError("scan goes along a dimension that is split; reshard it before")
    if found:
        length = found[0].dims[0]
    carry = mapped(lambda leaf: array_of(leaf) or UNKNOWN, start)
    made = run.call(function, Given((carry, row), {}), node, frame)
    if type(made) is not tuple or len(made) != 2:
        return (UNKNOWN, UNKNOWN)
    after = _carried(run, "scan", carry, made[0], node, frame)
    return after, mapped(lambda leaf: Array((length, *leaf.dims)) if (leaf := array_of(leaf)) else UNKNOWN, made[1])


def _row(leaf: Thing) -> Thing:
    return Array(leaf.dims[1:]) if isinstance(leaf, Array) and leaf.dims else UNKNOWN


def _carried(run: Run, name: str, carry: Thing, after: Thing, node: ast.expr | None, frame: Frame) -> Thing:
    """What a loop carries, which each round must give back in the shapes that it took."""

    def compared(one: Thing, other: Thing) -> Thing:
        made = array_of(other)
        if isinstance(one, Array) and made is not None:
            unlike = any(a != b and None not in (a, b) for a, b in zip(one.dims, made.dims, strict=False))
            if len(one.dims) != len(made.dims) or unlike:
                raise MisfitError(f"{name} starts from shape {shown(one.dims)}, and a round gives {shown(made.dims)}")
        return joined(one, UNKNOWN if made is None else made)

    return run.tried(node, frame, lambda: mapped(compared, carry, after))


def _fori(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    carry = mapped(lambda leaf: array_of(leaf) or UNKNOWN, given.find(3, "init_val"))
    after = run.call(given.find(2, "body_fun"), Given((SCALAR, carry), {}), node, frame)
    return _carried(run, "fori_loop", carry, after, node, frame)


def _while(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    carry = mapped(lambda leaf: array_of(leaf) or UNKNOWN, given.find(2, "init_val"))
    after = run.call(given.find(1, "body_fun"), Given((carry,), {}), node, frame)
    return _carried(run, "while_loop", carry, after, node, frame)


def _cond(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    operands = Given(tuple(given.positional[3:]), {})
    one, other = (run.call(given.find(n), operands, node, frame) for n in (1, 2))
    return joined(one, other)


def _over_rows(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    rows = given.find(1, "xs")
    first = next((one.dims[0] for one in leaves(rows) if isinstance(one, Array) and one.dims), None)
    made = run.call(given.find(0, "f"), Given((mapped(_row, rows),), {}), node, frame)
    return mapped(lambda leaf: Array((first, *leaf.dims)) if (leaf := array_of(leaf)) else UNKNOWN, made)


def _tree_map(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    function, *trees = given.positional
    if not trees or not is_container(trees[0]) or given.named:
        single = bool(trees) and not given.named and array_of(trees[0]) is not None
        return run.call(function, Given(tuple(trees), {}), node, frame) if single else UNKNOWN
    return mapped(lambda *row: run.call(function, Given(row, {}), node, frame), *trees)


# Communication


def devices(run: Run, names: Thing) -> Dim:
    """The number of devices along some axes."""
    found = names if type(names) in (tuple, list) else (names,)
    made = 1
    for one in found:
        count = run.axes.get(one) if isinstance(one, str) else None
        if count is None:
            return None
        made *= count
    return made


def bound(run: Run, name: str, names: Thing, node: ast.expr | None, frame: Frame) -> None:
    """Notes an axis that no map around binds: only those of which all is known are followed into."""
    for one in names if type(names) in (tuple, list) else (names,):
        of_vmap = isinstance(one, str) and run.checked and one in run.axes and one not in run.checked
        if of_vmap and name not in ASKING:
            told = f"{name} over {one!r}, the axis of a vmap, within a shard_map that checks what varies"
            run.note(node, frame.module, f"{told}; write check_vma=False")
        if isinstance(one, str) and one not in run.axes:
            had = f", only {shown_names(frozenset(run.axes))}" if run.axes else ", as no map runs around it"
            run.note(node, frame.module, f"{name}: no axis {one!r} is bound here{had}")


def grouped(run: Run, name: str, given: Given, node: ast.expr | None, frame: Frame) -> None:
    """Notes groups of devices that do not hold each once, or that JAX does not take where it checks what varies."""
    groups, axis = given.find(None, "axis_index_groups"), given.find(1, "axis_name")
    if type(groups) not in (tuple, list) or not isinstance(axis, str):
        return
    if name in SUMS and axis in run.checked:
        told = f"{name} takes no axis_index_groups where check_vma is on; write check_vma=False"
        run.note(node, frame.module, told)
    count = run.axes.get(axis)
    held = [number for one in groups if type(one) in (tuple, list, range) for number in one]
    if count is not None and all(type(number) is int for number in held) and all(map(is_listed, groups)):
        missing = sorted({*range(count)} - {*held})
        if missing or len(held) != count:
            what = f"leave out device {missing[0]}" if missing else "hold a device twice, or one that there is not"
            run.note(node, frame.module, f"{name}: axis_index_groups {what}, of {count}")


def is_listed(group: Thing) -> bool:
    """Whether a group of devices is written out."""
    return type(group) in (tuple, list, range)


def _axis_size(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    bound(run, "axis_size", given.find(0, "axis_name"), node, frame)
    count = devices(run, given.find(0, "axis_name"))
    return UNKNOWN if count is None else count


def _summed(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    operand = given.find(0, "x")
    bound(run, "psum", given.find(1, "axis_name"), node, frame)
    grouped(run, "psum", given, node, frame)
    if type(operand) is int:
        count = devices(run, given.find(1, "axis_name"))
        return SCALAR if count is None else count * operand
    return mapped(lambda leaf: array_of(leaf) or UNKNOWN, operand)


def _of_leaves(name: str, change: Callable[[Array, Given, Dim], Array | None]) -> Callable[..., Thing]:
    def handle(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
        bound(run, name, given.find(1, "axis_name"), node, frame)
        grouped(run, name, given, node, frame)
        count = devices(run, given.find(1, "axis_name"))

        def changed(leaf: Thing) -> Thing:
            array = array_of(leaf)
            made = change(array, given, count) if array is not None else None
            return UNKNOWN if made is None else made

        return mapped(changed, given.find(0, "x", otherwise=UNKNOWN))

    return handle


def _same(array: Array, given: Given, count: Dim) -> Array:
    return array


def _gathered(array: Array, given: Given, count: Dim) -> Array | None:
    at, tiled = given.find(None, "axis", otherwise=0), given.find(None, "tiled", otherwise=False)
    if type(at) is not int or not isinstance(tiled, bool) or given.find(None, "axis_index_groups") is not None:
        return None
    dims = list(array.dims)
    if not tiled:
        dims.insert(at if at >= 0 else len(dims) + 1 + at, count)
        return Array(tuple(dims))
    if not -len(dims) <= at < len(dims):
        raise MisfitError(f"all_gather along dimension {at} of an array of shape {shown(array.dims)}")
    dims[at] = times(dims[at], count)
    return Array(tuple(dims))


def _scattered(array: Array, given: Given, count: Dim) -> Array | None:
    at, tiled = given.find(None, "scatter_dimension", otherwise=0), given.find(None, "tiled", otherwise=False)
    if type(at) is not int or not isinstance(tiled, bool) or given.find(None, "axis_index_groups") is not None:
        return None
    return _split(array, at, count, "psum_scatter", tiled=tiled)


def _split(array: Array, at: int, count: Dim, name: str, *, tiled: bool) -> Array | None:
    dims = list(array.dims)
    if not -len(dims) <= at < len(dims):
        raise MisfitError(f"{name} along dimension {at} of an array of shape {shown(array.dims)}")
    length = dims[at]
    if length is not None and count is not None and (length % count if tiled else length != count):
        raise MisfitError(f"{name} among {count} devices along a dimension of length {length}")
    if tiled:
        dims[at] = None if length is None or count is None else length // count
    else:
        dims.pop(at)
    return Array(tuple(dims))


def _all_to_all(array: Array, given: Given, count: Dim) -> Array | None:
    split, concat = given.find(2, "split_axis"), given.find(3, "concat_axis")
    tiled = given.find(None, "tiled", otherwise=False)
    if type(split) is not int or type(concat) is not int or not isinstance(tiled, bool):
        return None
    if given.find(None, "axis_index_groups") is not None:
        return None
    made = _split(array, split, count, "all_to_all", tiled=tiled)
    if made is None:
        return None
    dims = list(made.dims)
    if not tiled:
        dims.insert(concat, count)
        return Array(tuple(dims))
    if not -len(dims) <= concat < len(dims):
        raise MisfitError(f"all_to_all along dimension {concat} of an array of shape {shown(array.dims)}")
    dims[concat] = times(dims[concat], count)
    return Array(tuple(dims))


def times(length: Dim, count: Dim) -> Dim:
    """A length times a number."""
    return None if length is None or count is None else length * count


def _index(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    bound(run, "axis_index", given.find(0, "axis_name"), node, frame)
    return SCALAR


def _first(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    return mapped(lambda leaf: array_of(leaf) or UNKNOWN, given.find(0, "x", "operand", otherwise=UNKNOWN))


def _taken(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    """`dynamic_slice_in_dim(x, start, size, axis)`."""
    array, size, at = given.find(0, "operand"), given.find(2, "slice_size"), given.find(3, "axis", otherwise=0)
    if not isinstance(array, Array) or type(at) is not int or not -len(array.dims) <= at < len(array.dims):
        return UNKNOWN
    dims = list(array.dims)
    dims[at] = dim_of(size)
    return Array(tuple(dims))


def _row_taken(run: Run, given: Given, node: ast.expr | None, frame: Frame) -> Thing:
    """`dynamic_index_in_dim(x, index, axis, keepdims)`."""
    array, at = given.find(0, "operand"), given.find(2, "axis", otherwise=0)
    kept = given.find(3, "keepdims", otherwise=True)
    if not isinstance(array, Array) or type(at) is not int or not -len(array.dims) <= at < len(array.dims):
        return UNKNOWN
    dims: list[Dim] = list(array.dims)
    if not isinstance(kept, bool):
        return UNKNOWN
    place = at % len(dims)
    dims[place : place + 1] = [1] if kept else []
    return Array(tuple(dims))


def _table(front: Sequence[str], functions: dict[str, Callable[..., Thing]]) -> dict[str, Callable[..., Thing]]:
    return {f"{one}.{name}": function for one in front for name, function in functions.items()}


HANDLERS: dict[str, Callable[..., Thing]] = {
    **_table(
        ["jax.lax"],
        {
            "scan": _scan,
            "fori_loop": _fori,
            "while_loop": _while,
            "cond": _cond,
            "map": _over_rows,
            "axis_size": _axis_size,
            "axis_index": _index,
            "psum": _summed,
            "pmean": _of_leaves("pmean", _same),
            "pmax": _of_leaves("pmax", _same),
            "pmin": _of_leaves("pmin", _same),
            "ppermute": _of_leaves("ppermute", _same),
            "all_gather": _of_leaves("all_gather", _gathered),
            "psum_scatter": _of_leaves("psum_scatter", _scattered),
            "all_to_all": _of_leaves("all_to_all", _all_to_all),
            "dynamic_slice_in_dim": _taken,
            "dynamic_index_in_dim": _row_taken,
            "dynamic_update_slice": _first,
            "dynamic_update_slice_in_dim": _first,
            "dynamic_update_index_in_dim": _first,
        },
    ),
    **_table(["jax", "jax.tree", "jax.tree_util"], {"tree_map": _tree_map}),
    **_table(["jax.tree"], {"map": _tree_map}),
}
