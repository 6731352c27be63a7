"""Digests what goes into and comes out of a mapped call, one host copy of each array at most.

Two arrays have the same digest if they hold the same bytes in row-major order, however they lie on the devices. No
view of a device buffer outlives this module's functions: XLA donates no buffer that somebody still looks at.
"""

from __future__ import annotations

import base64
import hashlib
import os
import weakref
from collections.abc import Callable, Container
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

SCALARS = (bool, int, float, complex, str, bytes)
_DIGEST_BYTES = 12
_LARGE_BYTES = 4 << 20
_LARGE_ROW = 1 << 12
_MOST_ROWS = 64


class Leaf(NamedTuple):
    """What is known of one leaf without its values; `kind` says how far these can be compared."""

    kind: str
    dtype: str
    shape: tuple[int, ...]
    weak: bool


class Tree(NamedTuple):
    """The leaves of one call's arguments or results; `kept` are the numbers of those that are on disk."""

    paths: tuple[str, ...]
    nodes: str
    leaves: tuple[Leaf, ...]
    digests: tuple[str, ...]
    kept: tuple[int, ...]


class Keep(NamedTuple):
    """What of a call is left on disk: leaf number i as `prefix` + i, if it is one of `leaves` and `take` has room."""

    prefix: str
    leaves: Container[int] | None
    take: Callable[[int], bool]


def digest_tree(tree: Any, layouts: Layouts, keep: Keep | None) -> Tree:
    """Digest every leaf of a pytree of arguments or results; raises nothing for leaves that cannot be read."""
    import jax

    values, treedef = jax.tree_util.tree_flatten(tree, is_leaf=_is_none)
    paths, nodes = layouts.of(tree, treedef)
    places = [_place(keep, number, value) for number, value in enumerate(values)]
    run = _threads().map if sum(map(_size, values)) > _LARGE_BYTES else map
    described = list(run(_describe, values, places))
    kept = tuple(number for number, place in enumerate(places) if place and os.path.exists(place))
    return Tree(paths, nodes, tuple(leaf for leaf, _ in described), tuple(digest for _, digest in described), kept)


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


class Layouts:
    """Remembers the key paths of the last pytree, since flattening with paths costs ten times as much as without."""

    def __init__(self) -> None:
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


def holds_tracer(tree: Any) -> bool:
    """Whether any leaf is a tracer: the call is then being transformed, and has no values."""
    import jax

    return any(isinstance(value, jax.core.Tracer) for value in jax.tree_util.tree_leaves(tree))


def wait_for(tree: Any) -> None:
    """Block until every array of a pytree is computed; tracers and deleted arrays have nothing to wait for."""
    import jax

    for value in jax.tree_util.tree_leaves(tree):
        if isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer) and not value.is_deleted():
            value.block_until_ready()


def _describe(value: Any, place: str) -> tuple[Leaf, str]:
    import jax

    if value is None:
        return Leaf("none", "None", (), False), ""
    if isinstance(value, SCALARS) and not hasattr(value, "dtype"):
        return _describe_scalar(value)
    try:
        if isinstance(value, jax.Array):
            return _describe_device_array(value, place)
        return _describe_host_array(value, place)
    except Exception as error:  # noqa: BLE001 - a leaf that cannot be handled must not stop the program
        return Leaf("unreadable", f"{_type_name(type(value))}: {error}", (), False), ""


def _describe_scalar(value: Any) -> tuple[Leaf, str]:
    text = repr(value)
    shown = text if len(text) <= 64 else f"{text[:48]}... {_encode(hashlib.sha256(text.encode()))}"
    return Leaf("scalar", type(value).__name__, (), False), shown


def _describe_host_array(value: Any, place: str) -> tuple[Leaf, str]:
    import numpy as np

    if isinstance(value, type) or not (isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__array__")):
        return Leaf("static", _type_name(type(value)), (), False), ""
    array = np.asarray(value)
    if array.dtype.hasobject:
        return Leaf("static", _type_name(type(value)), (), False), ""
    return Leaf("array", array.dtype.name, array.shape, False), _digest([array], place)


def _describe_device_array(value: Any, place: str) -> tuple[Leaf, str]:
    import jax

    name, shape = str(value.dtype), tuple(value.shape)
    weak = bool(getattr(value, "weak_type", False))
    if value.is_deleted():
        return Leaf("deleted", name, shape, weak), ""
    kind = "array" if value.is_fully_addressable else "local shards"
    known = _KNOWN.get(value)
    if known is not None and not place:
        return Leaf(kind, name, shape, weak), known
    is_key = name.startswith("key<")
    digest = _digest(_pieces(jax.random.key_data(value) if is_key else value), place)
    _KNOWN.put(value, digest)
    return Leaf(kind, name, shape, weak), digest


class _Known:
    """The digests of the arrays that are alive: the results of one step are most of the arguments of the next."""

    def __init__(self) -> None:
        self.entries: dict[int, tuple[Any, str]] = {}

    def get(self, value: Any) -> str | None:
        entry = self.entries.get(id(value))
        return entry[1] if entry is not None and entry[0]() is value else None

    def put(self, value: Any, digest: str) -> None:
        try:
            self.entries[id(value)] = (weakref.ref(value, self._forget(id(value))), digest)
        except TypeError:
            return

    def _forget(self, number: int) -> Callable[[Any], None]:
        def forget(reference: Any) -> None:
            entry = self.entries.get(number)
            if entry is not None and entry[0] is reference:
                del self.entries[number]

        return forget


_KNOWN = _Known()


def _pieces(value: Any) -> list[Any]:
    """Host arrays whose bytes, one after the other, are those of the array, or of the part that this process has."""
    import numpy as np

    shards = value.addressable_shards
    if value.is_fully_replicated:
        return [np.asarray(shards[0].data)]
    if value.is_fully_addressable and any(_splits_inner(shard.index, value.shape) for shard in shards):
        return [_assemble(value, shards)]
    rows = {_start(shard.index): shard for shard in shards}
    parts = [np.asarray(rows[start].data) for start in sorted(rows)]
    # Shards of some old versions lack the axis along which the array is split.
    return [part if part.ndim == value.ndim else part[None] for part in parts]


def _assemble(value: Any, shards: Any) -> Any:
    """The whole array on the host; `np.asarray(value)` would leave a copy of it with the program's own array."""
    import numpy as np

    whole = np.empty(value.shape, value.dtype)
    for shard in shards:
        whole[shard.index] = np.asarray(shard.data)
    return whole


def _start(index: Any) -> tuple[int, ...]:
    return tuple((part.start or 0) if isinstance(part, slice) else int(part) for part in index)


def _splits_inner(index: Any, shape: tuple[int, ...]) -> bool:
    return any(
        not isinstance(part, slice) or (part.start or 0) > 0 or part.stop not in (None, size)
        for part, size in zip(index[1:], shape[1:])  # noqa: B905 - Python 3.9 has no strict
    )


def _digest(pieces: list[Any], place: str) -> str:
    """The digest of the pieces' bytes; they are also written to the file `place` where that is given."""
    state = hashlib.sha256()
    if _may_repeat(pieces):
        _update_by_row(state, pieces)
    else:
        for piece in pieces:
            state.update(_bytes_of(piece))
    if place:
        with open(place, "wb") as file:
            for piece in pieces:
                file.write(_bytes_of(piece))
    return _encode(state)


def _may_repeat(pieces: list[Any]) -> bool:
    """Whether an array may be a stack of large equal slices; this depends on its shape and dtype alone."""
    rows = sum(piece.shape[0] if piece.ndim else 0 for piece in pieces)
    return 1 < rows <= _MOST_ROWS and sum(piece.nbytes for piece in pieces) >= rows * _LARGE_ROW


def _update_by_row(state: Any, pieces: list[Any]) -> None:
    """Digest slice by slice, naming one that repeats the first: comparing is several times as fast as hashing.

    Most of what a pmap program holds is replicated.
    """
    first = _words(pieces[0][0])
    for number, row in enumerate(row for piece in pieces for row in piece):
        if number and bool((_words(row) == first).all()):
            state.update(b"=")
        else:
            state.update(b"+")
            state.update(_bytes_of(row))


def _words(array: Any) -> Any:
    """The bytes of an array in the largest units that fit."""
    import numpy as np

    return np.ascontiguousarray(array).reshape(-1).view(np.uint64 if array.nbytes % 8 == 0 else np.uint8)


def _bytes_of(array: Any) -> Any:
    import numpy as np

    if not array.size:
        return b""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _encode(state: Any) -> str:
    return base64.b64encode(state.digest()[:_DIGEST_BYTES]).decode()


def combine(tree: Tree) -> str:
    """One digest for all leaves of a call."""
    return _encode(hashlib.sha256("\n".join(tree.digests).encode()))
