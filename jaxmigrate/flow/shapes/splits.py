"""What operations make of how arrays of an Explicit mesh are split, which is part of their types there.

They raise MisfitError where JAX would ask for another sharding.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxmigrate.flow.axes import shown as shown_names
from jaxmigrate.flow.shapes import arrays
from jaxmigrate.flow.shapes.arrays import MisfitError
from jaxmigrate.flow.shapes.values import Array, Mesh, Spec, Thing

EXPLICIT = "Explicit"
Split = tuple[tuple[str, ...], ...]


def of_spec(spec: Spec, mesh: Mesh | None, rank: int) -> Split | None:
    """How a spec splits an array of some dimensions on an Explicit mesh; None where that is not known."""
    if mesh is None or mesh.type != EXPLICIT or len(spec.entries) > rank:
        return None
    found: list[tuple[str, ...]] = []
    for entry in (*spec.entries, *((),) * (rank - len(spec.entries))):
        if entry is None or not all(axis in mesh.sizes for axis in entry):
            return None
        found.append(tuple(axis for axis in entry if mesh.sizes[axis] != 1))
    return tuple(found)


def written(split: Split) -> str:
    """A split as its spec is written."""
    names = ("None" if not entry else repr(entry[0]) if len(entry) == 1 else repr(entry) for entry in split)
    return f"P({', '.join(names)})"


def together(one: Array, other: Array) -> Array:
    """What an operation on each element of two arrays gives."""
    made = arrays.broadcast([one, other])
    if one.split is None or other.split is None:
        known = one if not other.dims else other if not one.dims else None
        return made._replace(split=known.split) if known is not None else made
    if len(one.dims) != len(other.dims):
        return made
    for left, right in zip(one.split, other.split, strict=True):
        if left and right and left != right:
            raise MisfitError(
                f"arrays that are split as {written(one.split)} and {written(other.split)} meet here, so that one must "
                "be resharded before"
            )
    return made._replace(split=tuple(a or b for a, b in zip(one.split, other.split, strict=True)))


def product(one: Array, other: Array) -> Array:
    """`one @ other`."""
    made = arrays.product(one, other)
    if one.split is None or other.split is None or len(one.dims) != 2 or len(other.dims) != 2:
        return made
    summed(one.split[1], other.split[0])
    split = (one.split[0], other.split[1])
    return made._replace(split=split if not set(split[0]) & set(split[1]) else None)


def dot(one: Array, other: Array) -> Array | None:
    """`jnp.dot`."""
    return product(one, other) if len(one.dims) == len(other.dims) == 2 else arrays.dot(one, other)


def einsum(terms: str, operands: Sequence[Array]) -> Array | None:
    """`jnp.einsum` without an out_sharding."""
    made = arrays.einsum(terms, operands)
    left, _, right = terms.replace(" ", "").partition("->")
    split = left.split(",")
    if made is None or len(operands) != 2 or any(one.split is None for one in operands):
        return made
    one, other = (dict(zip(term, each.split or (), strict=False)) for term, each in zip(split, operands, strict=True))
    for letter in one.keys() & other.keys():
        if letter not in right:
            summed(one[letter], other[letter])
    return made


def summed(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    """A dimension that two arrays are summed over together."""
    if one and other:
        raise MisfitError(
            f"both arrays are split over {shown_names(frozenset((*one, *other)))} along what is summed over here, so "
            "that out_sharding must say how the result is split"
        )


def indexed(array: Array, parts: Sequence[Thing]) -> Array | None:
    """`array[...]`, of which a dimension that is split gives no single element."""
    made = arrays.indexed(array, parts)
    if array.split is None or len(parts) > len(array.split):
        return made
    if all(type(part) in (int, slice) for part in parts):
        for part, axes in zip(parts, array.split, strict=False):
            if type(part) is int and axes:
                raise MisfitError(
                    f"one element is taken of a dimension that is split over {shown_names(frozenset(axes))}, which "
                    "needs `.at[...].get(out_sharding=...)`"
                )
    return made
