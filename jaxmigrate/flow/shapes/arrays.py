"""What the operations of arrays make of shapes; they raise MisfitError where JAX would."""

from __future__ import annotations

from collections.abc import Sequence

from jaxmigrate.flow.shapes.values import SCALAR, Array, Dim, Dims, Thing


class MisfitError(Exception):
    """Shapes that JAX refuses; says which."""


def shown(dims: Dims) -> str:
    """A shape as Python writes it."""
    inner = ", ".join("?" if one is None else str(one) for one in dims)
    return f"({inner},)" if len(dims) == 1 else f"({inner})"


def broadcast(arrays: Sequence[Array]) -> Array:
    """What an operation on each element of several arrays gives."""
    longest = max((len(one.dims) for one in arrays), default=0)
    made: list[Dim] = []
    for back in range(longest, 0, -1):
        lengths = [one.dims[-back] for one in arrays if len(one.dims) >= back]
        known = {length for length in lengths if length not in (None, 1)}
        if len(known) > 1:
            raise MisfitError(
                f"shapes {' and '.join(shown(one.dims) for one in arrays if one.dims)} do not fit each other"
            )
        made.append(known.pop() if known else None if None in lengths else 1)
    return Array(tuple(made))


def product(one: Array, other: Array) -> Array:
    """`one @ other`."""
    if not one.dims or not other.dims:
        raise MisfitError("a product of matrices takes no single number")
    left, right = one.dims[-1], other.dims[-2] if len(other.dims) > 1 else other.dims[-1]
    if left is not None and right is not None and left != right:
        raise MisfitError(
            f"in the product of {shown(one.dims)} and {shown(other.dims)} the lengths that are summed over differ"
        )
    front = broadcast([Array(one.dims[:-2]), Array(other.dims[:-2])]).dims
    rows = one.dims[-2:-1] if len(one.dims) > 1 else ()
    return Array((*front, *rows, *(other.dims[-1:] if len(other.dims) > 1 else ())))


def dot(one: Array, other: Array) -> Array | None:
    """`jnp.dot`, of matrices and vectors at most."""
    if not one.dims or not other.dims:
        return broadcast([one, other])
    return product(one, other) if len(other.dims) <= 2 else None


def einsum(terms: str, arrays: Sequence[Array]) -> Array | None:
    """`jnp.einsum`, without an ellipsis."""
    left, arrow, right = terms.replace(" ", "").partition("->")
    split = left.split(",")
    if "." in terms or not arrow or len(split) != len(arrays):
        return None
    lengths: dict[str, Dim] = {}
    for term, one in zip(split, arrays, strict=True):
        if len(term) != len(one.dims):
            raise MisfitError(f"einsum has {term!r} for an array of shape {shown(one.dims)}")
        for letter, length in zip(term, one.dims, strict=True):
            before = lengths.get(letter)
            if before not in (None, 1) and length not in (None, 1) and before != length:
                raise MisfitError(f"einsum has both {before} and {length} for {letter!r}")
            lengths[letter] = length if before in (None, 1) else before
    return Array(tuple(lengths.get(letter) for letter in right))


def axes_of(axis: Thing, rank: int) -> tuple[int, ...] | None:
    """Dimensions by their numbers; None where they are not known."""
    found = axis if type(axis) in (tuple, list) else (axis,)
    if not all(type(one) is int for one in found):
        return None
    if not all(-rank <= one < rank for one in found):
        raise MisfitError(f"dimension {found[0]} of an array that has {rank}")
    return tuple(one % rank for one in found)


def reduced(array: Array, axis: Thing, *, kept: bool) -> Array | None:
    """A sum over dimensions, all of them for None."""
    gone = tuple(range(len(array.dims))) if axis is None else axes_of(axis, len(array.dims))
    if gone is None:
        return None
    if kept:
        return Array(tuple(1 if n in gone else one for n, one in enumerate(array.dims)))
    return Array(tuple(one for n, one in enumerate(array.dims) if n not in gone))


def size(dims: Dims) -> Dim:
    """The number of elements."""
    made = 1
    for one in dims:
        if one is None:
            return None
        made *= one
    return made


def reshaped(array: Array, dims: Sequence[Thing]) -> Array:
    """Another shape for the same elements; -1 for the length that is left over."""
    whole = size(array.dims)
    open_ended = [n for n, one in enumerate(dims) if type(one) is int and one == -1]
    known = [None if type(one) is not int else one for one in dims]
    rest = size(tuple(one for n, one in enumerate(known) if n not in open_ended))
    if whole is not None and rest is not None:
        fits = whole % rest == 0 if open_ended and rest else whole == rest
        if not fits:
            raise MisfitError(f"an array of shape {shown(array.dims)} has no {shown(tuple(known))} in it")
    left = whole // rest if open_ended and whole is not None and rest else None
    return Array(tuple(left if n in open_ended else one for n, one in enumerate(known)))


def indexed(array: Array, parts: Sequence[Thing]) -> Array | None:
    """`x[...]`; what chooses is a number, a slice, None, an ellipsis or an array of numbers."""
    taking = sum(type(one) is int or isinstance(one, slice | Array) for one in parts)
    if taking > len(array.dims):
        raise MisfitError(f"{taking} indices for an array of shape {shown(array.dims)}")
    if not all(one is None or one is ... or type(one) is int or isinstance(one, slice | Array) for one in parts):
        return None  # what is not known may be None
    if sum(one is ... for one in parts) > 1 or sum(isinstance(one, Array) and bool(one.dims) for one in parts) > 1:
        return None
    if not any(one is ... for one in parts):
        parts = [*parts, ...]
    rest, made = list(array.dims), list[Dim]()
    filled = len(rest) - taking
    for one in parts:
        if one is None:
            made.append(1)
        elif one is ...:
            made += rest[:filled]
            rest = rest[filled:]
        elif isinstance(one, slice):
            made.append(_sliced(rest.pop(0), one))
        elif isinstance(one, Array):
            rest.pop(0)
            made += one.dims
        elif type(one) is int:
            length = rest.pop(0)
            if length is not None and not -length <= one < length:
                return None  # which numpy refuses, and JAX clamps
        else:
            return None
    return Array(tuple(made))


def _sliced(length: Dim, part: slice) -> Dim:
    ends = (part.start, part.stop, part.step)
    if ends == (None, None, None):
        return length
    if length is None or not all(one is None or type(one) is int for one in ends) or part.step == 0:
        return None
    return len(range(length)[part])


def stacked(arrays: Sequence[Array]) -> Array | None:
    """Arrays of one shape as rows of another."""
    if not arrays:
        return None
    ranks = {len(one.dims) for one in arrays}
    if len(ranks) > 1:
        return None
    dims = tuple(row[0] if len(set(row)) == 1 else None for row in zip(*(one.dims for one in arrays), strict=True))
    return Array((len(arrays), *dims))


def as_array(thing: Thing) -> Array | None:
    """What `jnp.array` makes of numbers, arrays, and lists of such."""
    if isinstance(thing, Array):
        return thing
    if isinstance(thing, bool | int | float | complex):
        return SCALAR
    if type(thing) in (tuple, list):
        parts = [as_array(one) for one in thing]
        known = [one for one in parts if one is not None]
        return stacked(known) if len(known) == len(parts) else None
    return None
