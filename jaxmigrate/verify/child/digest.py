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
from functools import lru_cache, partial
from typing import Any, NamedTuple

from .arrays import Arrays
from .content import Content, Leaf, Shape, content, digest_of_text
from .shards import Pieces, pieces_of
from .together import Asked, Together
from .values import is_array

SCALARS = (bool, int, float, complex, str, bytes)
_NUMBERS = (bool, int, float, complex)
_LARGE_BYTES = 4 << 20
# What devices make of the host's numbers.
NARROW = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}


# The number of a leaf, where its bytes begin in the file of arrays, and how many there are.
Kept = tuple[int, int, int]


class Tree(NamedTuple):
    """The leaves of one call's arguments or results; `kept` are the numbers of those on disk, and where these are."""

    paths: tuple[str, ...]
    nodes: str
    leaves: tuple[Leaf, ...]
    contents: tuple[Content, ...]
    kept: tuple[Kept, ...]


class View(NamedTuple):
    """How arrays are looked at: on which side, on how many devices, and whether they are arguments."""

    original: bool
    devices: int
    arguments: bool


class Keep(NamedTuple):
    """What of a call is left on disk: a leaf that is one of `leaves` and that `take` has room for, in `file`."""

    leaves: Container[int] | None
    take: Callable[[int], bool]
    file: Arrays


class _Stored(NamedTuple):
    """Where an array is on disk: a process that was forked has another file."""

    file: Arrays
    place: tuple[int, int]


class _Places:
    """Leaves the bytes of some leaves on disk, and remembers where: those that are there are not written again."""

    def __init__(self, keep: Keep | None, values: list[Any]) -> None:
        self.keep = keep
        self.wanted = [keep is not None and _is_wanted(keep, *leaf) for leaf in enumerate(values)]
        self.found: dict[int, tuple[int, int]] = {}

    def write(self, number: int, pieces: list[Any]) -> None:
        """Leave the pieces of a leaf on disk, if it is wanted there."""
        if self.keep is not None and self.wanted[number]:
            self.found[number] = self.keep.file.write(pieces)

    def has(self, number: int, stored: _Stored | None) -> bool:
        """Whether a leaf need not be written: it is not wanted, or on disk in this process's file already."""
        if self.keep is None or not self.wanted[number]:
            return True
        if stored is None or stored.file is not self.keep.file:
            return False
        self.found[number] = stored.place
        return True

    def stored(self, number: int) -> _Stored | None:
        """Where a leaf is, if it has been written."""
        return _Stored(self.keep.file, self.found[number]) if self.keep is not None and number in self.found else None

    def kept(self) -> tuple[Kept, ...]:
        """The leaves that are on disk."""
        return tuple((number, *self.found[number]) for number in sorted(self.found))


class Flat(NamedTuple):
    """A pytree, taken apart."""

    tree: Any
    values: list[Any]
    treedef: Any


class Begun(NamedTuple):
    """A pytree that is being digested: its leaves, where to leave those that are kept, what is known of them.

    `left` are the numbers of the leaves of which nothing is known, and that are not asked for together with others.
    """

    values: list[Any]
    paths: tuple[str, ...]
    nodes: str
    places: _Places
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
    places = _Places(keep, values)
    known, left = _KNOWN.of(values, places)
    asked = structures.together.ask(values, [number for number in left if not places.wanted[number]] if keep else left)
    if asked.numbers:
        left = sorted({*left}.difference(asked.numbers))
    return Begun(values, paths, nodes, places, known, asked, left, structures)


def digest_tree(begun: Begun, view: View) -> Tree:
    """Digest every leaf; raises nothing for leaves that cannot be read."""
    values, places, described = begun.values, begun.places, begun.known
    for number, found in begun.structures.together.read(begun.asked, *view[:2]):
        described[number] = found
    _KNOWN.put(values, described, begun.asked.numbers)
    left = [*begun.left, *(number for number in begun.asked.numbers if described[number] is None)]
    run = _threads().map if sum(_size(values[number]) for number in left) > _LARGE_BYTES else map
    described_left = run(lambda number: _describe(values[number], partial(places.write, number), view), left)
    for number, found in zip(left, described_left):  # noqa: B905 - Python 3.9 has no strict
        described[number] = found
        _KNOWN.is_at(values[number], places.stored(number))
    leaves, contents = zip(*described) if described else ((), ())  # noqa: B905 - Python 3.9 has no strict
    return Tree(begun.paths, begun.nodes, leaves, contents, places.kept())


def keep_values(values: list[Any], keep: Keep, view: View) -> tuple[Kept, ...]:
    """Leave arrays on disk of which no digest is wanted; those that are there."""
    places = _Places(keep, values)
    for number, value in enumerate(values):
        if places.wanted[number]:
            _describe(value, partial(places.write, number), view)
    return places.kept()


def _threads() -> ThreadPoolExecutor:
    """Threads for large trees, as many as there are processors; hashing lets them run side by side."""
    pool = _POOLS.get(os.getpid())
    if pool is None:
        pool = _POOLS.setdefault(os.getpid(), ThreadPoolExecutor(min(8, os.cpu_count() or 1), "jaxmigrate"))
    return pool


_POOLS: dict[int, ThreadPoolExecutor] = {}


def _is_none(value: Any) -> bool:
    return value is None


def _is_wanted(keep: Keep, number: int, value: Any) -> bool:
    return (keep.leaves is None or number in keep.leaves) and keep.take(_size(value))


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


_Write = Callable[[list[Any]], None]


def _describe(value: Any, write: _Write, view: View) -> tuple[Leaf, Content]:
    if value is None:
        return Leaf("none", "None", (), False), _NOTHING
    if isinstance(value, SCALARS) and not hasattr(value, "dtype"):
        return _describe_scalar(value, view)
    try:
        if is_array(type(value)):
            return _describe_device_array(value, write, view)
        return _describe_host_array(value, write, view)
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


def _describe_host_array(value: Any, write: _Write, view: View) -> tuple[Leaf, Content]:
    import numpy as np

    if isinstance(value, type) or not (isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__")):
        return Leaf("static", _type_name(type(value)), (), False), _NOTHING
    array = np.asarray(value)
    if array.dtype.hasobject:
        return Leaf("static", _type_name(type(value)), (), False), _NOTHING
    array = _as_seen(array, view)
    found = content([array], Shape(view.original, view.devices, array.shape))
    write([array])
    return Leaf("array", array.dtype.name, array.shape, False), found


def _describe_device_array(value: Any, write: _Write, view: View) -> tuple[Leaf, Content]:
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
        part = value.sharding.shard_shape(value.shape)
        stacked = Shape(view.original, view.devices, (len(pieces.apart), *part), len(pieces.apart))
        found = found._replace(stacked=content(pieces.apart, stacked).whole)
    write(pieces.arrays)
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
        self.entries: dict[int, tuple[Any, _Described, _Stored | None]] = {}
        self.room = _FEWEST_KNOWN

    def of(self, values: list[Any], places: _Places) -> tuple[list[Any], list[int]]:
        """What is known of each value, and the numbers of those of which nothing is, or that are to be written."""
        known: list[_Described | None] = [None] * len(values)
        unknown = []
        for number, value in enumerate(values):
            entry = self.entries.get(id(value))
            if entry is None or entry[0]() is not value or value.is_deleted() or not places.has(number, entry[2]):
                unknown.append(number)
            else:
                known[number] = entry[1]
        return known, unknown

    def put(self, values: list[Any], described: list[Any], numbers: Iterable[int]) -> None:
        """Keep what was found of the values with these numbers, for as long as they live."""
        for number in numbers:
            if described[number] is not None:
                self.entries[id(values[number])] = (weakref.ref(values[number]), described[number], None)
        if len(self.entries) > self.room:
            self._forget()

    def is_at(self, value: Any, stored: _Stored | None) -> None:
        """Remember where on disk a value is of which something is known."""
        entry = self.entries.get(id(value))
        if stored is not None and entry is not None and entry[0]() is value:
            self.entries[id(value)] = (*entry[:2], stored)

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
