"""Digests what goes into and comes out of a mapped call, one host copy of each array at most.

Two arrays have the same digest if they hold the same bytes in row-major order, however they lie on the devices. Of
what goes in it counts what the mapped function sees: JAX makes 32-bit numbers of the host's 64-bit ones. No view of a
device buffer outlives this module's functions: XLA donates no buffer that somebody still looks at.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Container, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from .content import Content, Leaf, Shape, content, digest_of_text, write
from .shards import Pieces, pieces_of
from .together import Asked, Together
from .values import is_array

SCALARS = (bool, int, float, complex, str, bytes)
_NUMBERS = (bool, int, float, complex)
_LARGE_BYTES = 4 << 20
# What devices make of the host's numbers.
NARROW = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}


class Tree(NamedTuple):
    """The leaves of one call's arguments or results; `kept` are the numbers of those that are on disk."""

    paths: tuple[str, ...]
    nodes: str
    leaves: tuple[Leaf, ...]
    contents: tuple[Content, ...]
    kept: tuple[int, ...]


class View(NamedTuple):
    """How arrays are looked at: on which side, on how many devices, and whether they are arguments."""

    original: bool
    devices: int
    arguments: bool


class Keep(NamedTuple):
    """What of a call is left on disk: leaf number i as `prefix` + i, if it is one of `leaves` and `take` has room."""

    prefix: str
    leaves: Container[int] | None
    take: Callable[[int], bool]


class Flat(NamedTuple):
    """A pytree, taken apart."""

    tree: Any
    values: list[Any]
    treedef: Any


class Begun(NamedTuple):
    """A pytree that is being digested: its leaves, where to leave them if it `keeps` any, what is known of them.

    `left` are the numbers of the leaves of which nothing is known, and that are not asked for together with others.
    """

    values: list[Any]
    paths: tuple[str, ...]
    nodes: str
    places: list[str]
    keeps: bool
    known: list[Any]
    asked: Asked
    left: list[int]
    structures: Structures


def flatten(tree: Any) -> Flat:
    """The leaves of a pytree, None among them."""
    import jax

    return Flat(tree, *jax.tree_util.tree_flatten(tree, is_leaf=_is_none))


def begin(flat: Flat, structures: Structures, keep: Keep | None) -> Begun:
    """Begin to digest a pytree of arguments or results, which need not be computed yet."""
    values = flat.values
    paths, nodes = structures.of(flat.tree, flat.treedef)
    places = [_place(keep, number, value) for number, value in enumerate(values)] if keep else [""] * len(values)
    known, left = _KNOWN.of(values, places)
    asked = structures.together.ask(values, [number for number in left if not places[number]] if keep else left)
    if asked.numbers:
        left = sorted({*left}.difference(asked.numbers))
    return Begun(values, paths, nodes, places, keep is not None, known, asked, left, structures)


def digest_tree(begun: Begun, view: View) -> Tree:
    """Digest every leaf; raises nothing for leaves that cannot be read."""
    values, places, described = begun.values, begun.places, begun.known
    for number, found in begun.structures.together.read(begun.asked, *view[:2]):
        described[number] = found
    _KNOWN.put(values, described, begun.asked.numbers)
    left = [*begun.left, *(number for number in begun.asked.numbers if described[number] is None)]
    run = _threads().map if sum(_size(values[number]) for number in left) > _LARGE_BYTES else map
    for number, found in zip(left, run(lambda number: _describe(values[number], places[number], view), left)):  # noqa: B905
        described[number] = found
    kept = tuple(number for number, place in enumerate(places) if place and os.path.exists(place))
    leaves, contents = zip(*described) if described else ((), ())  # noqa: B905 - Python 3.9 has no strict
    return Tree(begun.paths, begun.nodes, leaves, contents, kept)


def keep_values(values: list[Any], keep: Keep, view: View) -> tuple[int, ...]:
    """Leave arrays on disk of which no digest is wanted; the numbers of those that are there."""
    places = [_place(keep, number, value) for number, value in enumerate(values)]
    for value, place in zip(values, places):  # noqa: B905 - Python 3.9 has no strict
        if place:
            _describe(value, place, view)
    return tuple(number for number, place in enumerate(places) if place and os.path.exists(place))


def _threads() -> ThreadPoolExecutor:
    """Threads for large trees, as many as there are processors; hashing lets them run side by side."""
    pool = _POOLS.get(os.getpid())
    if pool is None:
        pool = _POOLS.setdefault(os.getpid(), ThreadPoolExecutor(min(8, os.cpu_count() or 1), "jaxmigrate"))
    return pool


_POOLS: dict[int, ThreadPoolExecutor] = {}


def _is_none(value: Any) -> bool:
    return value is None


def _place(keep: Keep | None, number: int, value: Any) -> str:
    if keep is None or (keep.leaves is not None and number not in keep.leaves):
        return ""
    return f"{keep.prefix}{number}" if keep.take(_size(value)) else ""


def _size(value: Any) -> int:
    try:
        return int(getattr(value, "nbytes", 0))
    except Exception:  # noqa: BLE001 - a leaf that cannot be handled must not stop the program
        return 0


def size_of(values: list[Any]) -> int:
    """The bytes of all leaves together."""
    return sum(map(_size, values))


class Structures:
    """Remembers the key paths of the last pytree, since flattening with paths costs ten times as much as without.

    `together` reads what the calls with such trees hold.
    """

    def __init__(self) -> None:
        self.together = Together()
        self.treedef: Any = None
        self.answer: tuple[tuple[str, ...], str] = ((), "")

    def of(self, tree: Any, treedef: Any) -> tuple[tuple[str, ...], str]:
        """The key paths of the leaves, and the containers as text."""
        if self.treedef is None or not _same(self.treedef, treedef):
            self.answer = (_key_paths(tree), _node_types(treedef))
            self.treedef = treedef
        return self.answer


def _same(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # noqa: BLE001 - a leaf that cannot be handled must not stop the program
        return False


def _key_paths(tree: Any) -> tuple[str, ...]:
    from jax import tree_util

    if not hasattr(tree_util, "tree_flatten_with_path"):
        return tuple(f"[{number}]" for number in range(len(tree_util.tree_leaves(tree, is_leaf=_is_none))))
    pairs, _ = tree_util.tree_flatten_with_path(tree, is_leaf=_is_none)
    return tuple(tree_util.keystr(path) for path, _ in pairs)


def _node_types(treedef: Any) -> str:
    """The containers of a pytree as text, without the static data in them, which may hold addresses."""
    data = treedef.node_data()
    if data is None:
        return "*"
    return "{}({})".format(_type_name(data[0]), ",".join(_node_types(child) for child in treedef.children()))


def _type_name(kind: Any) -> str:
    return "{}.{}".format(getattr(kind, "__module__", ""), getattr(kind, "__qualname__", str(kind)))


def wait_for(tree: Any, begun: Begun | None) -> None:
    """Block until every array of a pytree is computed; tracers and deleted arrays have nothing to wait for.

    Of arrays that are copied together it is the copy that is waited for, since each wait takes its time.
    """
    import jax

    for waited in (tree,) if begun is None else ((begun.asked.rows, [begun.values[n] for n in begun.left]), tree):
        with suppress(Exception):
            jax.block_until_ready(waited)  # type: ignore[no-untyped-call]
            return
    # One by one then, without those that are deleted.
    for value in jax.tree_util.tree_leaves(tree):
        if is_array(type(value)) and not value.is_deleted():
            value.block_until_ready()


def _describe(value: Any, place: str, view: View) -> tuple[Leaf, Content]:
    if value is None:
        return Leaf("none", "None", (), False), _NOTHING
    if isinstance(value, SCALARS) and not hasattr(value, "dtype"):
        return _describe_scalar(value, view)
    try:
        if is_array(type(value)):
            return _describe_device_array(value, place, view)
        return _describe_host_array(value, place, view)
    except Exception as error:  # noqa: BLE001 - a leaf that cannot be handled must not stop the program
        return Leaf("unreadable", f"{_type_name(type(value))}: {error}", (), False), _NOTHING


_NOTHING = Content("")


def _describe_scalar(value: Any, view: View) -> tuple[Leaf, Content]:
    """A scalar as text, with the array that the mapped function sees if it is a number."""
    text = repr(value)
    shown = text if len(text) <= 64 else f"{text[:48]}... {digest_of_text(text)}"
    return Leaf("scalar", type(value).__name__, (), False), Content(shown, _as_array(value, view))


def _as_array(value: Any, view: View) -> str:
    import numpy as np

    if not isinstance(value, _NUMBERS):
        return ""
    array = np.asarray(value)
    if array.dtype.hasobject:
        return ""
    array = _as_seen(array, view)
    return f"{array.dtype.name} {content([array], Shape(view.original, view.devices, ())).whole}"


def _as_seen(array: Any, view: View) -> Any:
    """The array that a mapped function gets for one of the host's."""
    import jax
    import numpy as np

    narrow = NARROW.get(_dtype_name(array.dtype))
    if not view.arguments or narrow is None or jax.config.jax_enable_x64:  # type: ignore[attr-defined]
        return array
    with np.errstate(all="ignore"):
        return array.astype(narrow)


def _describe_host_array(value: Any, place: str, view: View) -> tuple[Leaf, Content]:
    import numpy as np

    if isinstance(value, type) or not (isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__")):
        return Leaf("static", _type_name(type(value)), (), False), _NOTHING
    array = np.asarray(value)
    if array.dtype.hasobject:
        return Leaf("static", _type_name(type(value)), (), False), _NOTHING
    array = _as_seen(array, view)
    found = content([array], Shape(view.original, view.devices, array.shape))
    if place:
        write(place, [array])
    return Leaf("array", array.dtype.name, array.shape, False), found


def _describe_device_array(value: Any, place: str, view: View) -> tuple[Leaf, Content]:
    import jax

    name = _dtype_name(value.dtype)
    weak = bool(getattr(value, "weak_type", False))
    if value.is_deleted():
        return Leaf("deleted", name, tuple(value.shape), weak), _NOTHING
    is_whole = value.is_fully_addressable
    kind = "array" if is_whole else "local shards"
    pieces = pieces_of(jax.random.key_data(value) if name.startswith("key<") else value)
    shape = tuple(value.shape) if is_whole else _local_shape(value, pieces)
    places = pieces.places if pieces.devices == view.devices else 0
    cut = Shape(view.original, view.devices, shape if pieces.by_rows else (), places)
    found = content(pieces.arrays, cut, pieces.copies)
    if pieces.apart:
        stacked = Shape(view.original, view.devices, (len(pieces.apart), *pieces.apart[0].shape), len(pieces.apart))
        found = found._replace(stacked=content(pieces.apart, stacked).whole)
    if place:
        write(place, pieces.arrays)
    described = (Leaf(kind, name, shape, weak), found)
    _KNOWN.put([value], [described], [0])
    return described


@lru_cache(maxsize=256)
def _dtype_name(dtype: Any) -> str:
    """The name of a dtype; JAX's and NumPy's take their time to spell it."""
    return str(dtype)


def _local_shape(value: Any, pieces: Pieces) -> tuple[int, ...]:
    """The shape of the part of an array that this process has, flat where that is not made of whole rows."""
    if not pieces.by_rows:
        return (sum(int(piece.size) for piece in pieces.arrays),)
    return (sum(piece.shape[0] for piece in pieces.arrays), *value.shape[1:]) if value.shape else ()


_Described = tuple[Leaf, Content]


class _Known:
    """What is known of the arrays that are alive: the results of one step are most of the arguments of the next.

    Those that are gone are forgotten when there are many: being told of each one would take longer.
    """

    def __init__(self) -> None:
        self.entries: dict[int, tuple[Any, _Described]] = {}
        self.room = _FEWEST_KNOWN

    def of(self, values: list[Any], places: list[str]) -> tuple[list[Any], list[int]]:
        """What is known of each value that has no place on disk, and the numbers of those of which nothing is."""
        known: list[_Described | None] = [None] * len(values)
        unknown = []
        for number, value in enumerate(values):
            entry = self.entries.get(id(value))
            if entry is None or entry[0]() is not value or value.is_deleted() or places[number]:
                unknown.append(number)
            else:
                known[number] = entry[1]
        return known, unknown

    def put(self, values: list[Any], described: list[Any], numbers: Iterable[int]) -> None:
        """Keep what was found of the values with these numbers, for as long as they live."""
        for number in numbers:
            if described[number] is not None:
                self.entries[id(values[number])] = (weakref.ref(values[number]), described[number])
        if len(self.entries) > self.room:
            self._forget()

    def _forget(self) -> None:
        for number, entry in [*self.entries.items()]:
            if entry[0]() is None and self.entries.get(number) is entry:
                self.entries.pop(number, None)
        self.room = max(_FEWEST_KNOWN, 2 * len(self.entries))


_FEWEST_KNOWN = 1024
_KNOWN = _Known()


def combine(tree: Tree) -> str:
    """One digest for all leaves of a call."""
    return digest_of_text("\n".join([found.identity if found.replicas else found.whole for found in tree.contents]))
