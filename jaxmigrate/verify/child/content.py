"""Digests the bytes of one array such that it can be told from another layout of the same numbers.

The original hands stacked arrays to its mapped functions, with one slice per device; a rewrite may hand the same
numbers over as one replicated array, or as one array that is split into blocks. So the digest of an array is that of
the digests of as many blocks as there are devices, and the digest of a block is taken in the same way: of a stacked
array these are its slices, and one pass over the bytes gives the digests of the array, of its slices, and of the same
numbers split. Small arrays and those that cannot be cut so are digested in a row. No more is hashed than may be needed:
blocks that repeat the first are compared with it, which is several times as fast, and most of what a pmap program holds
is replicated.
"""

from __future__ import annotations

import binascii
import hashlib
from functools import lru_cache
from typing import Any, NamedTuple

DIGEST_BYTES = 12
# Characters of a digest that tell the slices of one array apart well enough to say which one is wrong.
SHORT = 6
MOST_SLICES = 64
# Bytes of an array that is digested in a row.
SMALL = 1 << 16
_GLIMPSE = 64


class Shape(NamedTuple):
    """What decides which digests are taken: the side, the devices of this process, and the array's own shape.

    `places` is the number of parts that it lies in on all of these devices: 1 if every device has a copy; 0 for
    arrays of the host, and for those on other numbers of devices.
    """

    original: bool
    devices: int
    shape: tuple[int, ...]
    places: int = 0

    @property
    def blocks(self) -> int:
        """How many blocks make up the digest of the array; 0 if it is digested in a row."""
        shape = _without_ones(self.shape)
        return self.devices if self.devices > 1 and shape and shape[0] and shape[0] % self.devices == 0 else 0

    @property
    def block(self) -> Shape:
        """The shape of one of them."""
        first, *inner = _without_ones(self.shape)
        return self._replace(shape=(first // self.devices, *inner))

    @property
    def certain(self) -> bool:
        """Whether the other side has as many blocks, so that no digest in a row is needed."""
        return self.shape[0] == self.devices if self.original else self.places > 0

    @property
    def parts(self) -> int:
        """How many equal parts of the leading axis are told apart; 0 for none."""
        if not self.shape or not self.shape[0]:
            return 0
        if self.original:
            return self.shape[0] if self.shape[0] <= MOST_SLICES else 0
        return self.devices if self.shape[0] % self.devices == 0 else 0


class _Cuts(NamedTuple):
    """What a shape says about its digests, worked out once for all arrays that are alike."""

    blocks: int
    parts: int
    certain: bool
    block: Shape | None
    inner: Shape
    # How many blocks a slice is cut into in its turn.
    inner_blocks: int


@lru_cache(maxsize=4096)
def _cuts(shape: Shape) -> _Cuts:
    blocks = shape.blocks
    certain = bool(shape.shape) and shape.certain
    inner = shape._replace(shape=shape.shape[1:])
    return _Cuts(blocks, shape.parts, certain, shape.block if blocks else None, inner, inner.blocks)


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape from its first length on that is not 1: stacked arrays may have such axes more."""
    first = next((number for number, length in enumerate(shape) if length != 1), len(shape))
    return shape[first:]


class Leaf(NamedTuple):
    """What is known of one leaf without its values; `kind` says how far these can be compared."""

    kind: str
    dtype: str
    shape: tuple[int, ...]
    weak: bool


class Content(NamedTuple):
    """The digests of one array.

    `whole` is that of the digests of its blocks where it is cut into some, or that of one of them if all are the same,
    and `flat` then that of all bytes in a row if that may be needed. `parts` tells slices or blocks apart: `=` and the
    digest of each if all are equal, else the first characters of each. `replicas` numbers the copies that differ from
    the first one. Of an array that is split along an axis within, `stacked` is what the digest would be if what the
    devices have stood one after the other; likewise of one of which some devices have the same rows.
    """

    whole: str
    flat: str = ""
    parts: str = ""
    replicas: str = ""
    stacked: str = ""

    def text(self) -> str:
        """All digests in one line."""
        return "\t".join(self).rstrip("\t")

    @property
    def identity(self) -> str:
        """What two arrays of the same shape have in common if and only if they hold the same bytes."""
        return f"{self.whole}\t{self.replicas}" if self.replicas else self.whole


def content(pieces: list[Any], shape: Shape, replicas: str = "") -> Content:
    """The digests of an array whose bytes are those of `pieces`, one after the other: host arrays, or bytes."""
    cuts = _cuts(shape)
    are_bytes = all(isinstance(piece, bytes) for piece in pieces)
    buffers = pieces if are_bytes else [bytes_of(piece) for piece in pieces]
    if sum(map(len, buffers)) <= SMALL:
        return _small_content(buffers, shape, cuts, replicas)
    if cuts.block is None:
        return Content(_flat(buffers), "", _told_apart(_digests_of(_parts(buffers, cuts.parts), cuts.inner)), replicas)
    blocks = _digests_of(_parts(buffers, cuts.blocks), cuts.block)
    told = blocks if cuts.parts in (0, cuts.blocks) else _digests_of(_parts(buffers, cuts.parts), cuts.inner)
    flat = "" if cuts.certain else _flat(buffers)
    return Content(digest_of_text("".join(blocks)), flat, _told_apart(told), replicas)


def repeated_content(first: bytes, count: int, shape: Shape) -> Content:
    """The digests of a stacked array of which each of `count` devices holds the same bytes."""
    cuts = _cuts(shape)
    if not (first and count == cuts.blocks == cuts.parts and shape.original and cuts.certain) or len(first) > SMALL:
        return content([first] * count, shape)
    if count * len(first) <= SMALL:
        return _repeated_content(first, cuts, "", "")
    digest = _small_digest(first, cuts.inner_blocks)
    return Content(digest_of_text(digest * count), "", f"={digest}")


def copied_content(data: bytes, shape: Shape) -> Content:
    """The digests of an array of which every device has a copy, with these bytes."""
    cuts = _cuts(shape)
    if shape.original or shape.places != 1 or len(data) > SMALL:
        return content([data], shape)
    digest = _digest_of(data)
    first = _repeated_within(data, cuts.blocks)
    return Content(_repeated_digest(_digest_of(first)), digest) if first else Content(digest)


def _small_content(buffers: list[Any], shape: Shape, cuts: _Cuts, replicas: str) -> Content:
    """The digests of an array that is digested in a row, unless all of its blocks are the same: then of one of them.

    The digest in a row is added for the other side, unless that has as many blocks.
    """
    first = _repeated(buffers, cuts.blocks)
    flat = _flat(buffers) if not first or not (shape.original and cuts.certain) else ""
    count = 0 if shape.places == 1 and not shape.original else cuts.parts
    if first and count == cuts.blocks:
        return _repeated_content(first, cuts, flat, replicas)
    parts = buffers if count == len(buffers) and _are_even(buffers) else _cut(b"".join(buffers), count)
    told = _told_apart(_small_digests(parts, cuts.inner_blocks))
    whole, further = (_repeated_digest(_digest_of(first)), flat) if first else (flat, "")
    return Content(whole, further, told, replicas)


def _repeated_content(first: bytes, cuts: _Cuts, flat: str, replicas: str) -> Content:
    """The digests of an array whose slices are its blocks, each with the bytes `first`."""
    digest = _digest_of(first)
    inner = _repeated_within(first, cuts.inner_blocks)
    told = _repeated_digest(_digest_of(inner)) if inner else digest
    return Content(_repeated_digest(digest), flat, f"={told}", replicas)


def _repeated(buffers: list[Any], count: int) -> bytes:
    """The first of the `count` blocks of an array, if all of them hold the same; else nothing."""
    if len(buffers) == count > 0 and _are_even(buffers):
        return bytes(buffers[0]) if buffers.count(buffers[0]) == count else b""
    return _repeated_within(b"".join(buffers), count) if count else b""


def _repeated_within(data: bytes, count: int) -> bytes:
    """The same of the blocks of some bytes."""
    size = len(data) // count if count else 0
    if not size or data[0] != data[size % len(data)]:
        return b""
    first = data[:size]
    return first if first == data[size : 2 * size] and first * count == data else b""


def _repeated_digest(digest: str) -> str:
    """The digest of blocks that all have this one; as the digest of a text it would take as long as that of a block."""
    return f"{digest}*"


def _small_digest(data: Any, blocks: int) -> str:
    first = _repeated_within(bytes(data), blocks)
    return _repeated_digest(_digest_of(first)) if first else _digest_of(data)


def _tree_digest(data: Any, shape: Shape) -> str:
    """The digest of one part: that of its blocks if it is large and can be cut."""
    if len(data) <= SMALL:
        return _small_digest(data, _cuts(shape).blocks)
    if not shape.blocks:
        return _digest_of(data)
    return digest_of_text("".join(_digests_of(_cut(data, shape.blocks), shape.block)))


def _digests_of(parts: list[Any], block: Shape) -> list[str]:
    """The digest of each part; those that repeat the first are not hashed."""
    if not parts:
        return []
    first = _tree_digest(parts[0], block)
    if isinstance(parts[0], bytes) and parts.count(parts[0]) == len(parts):
        return [first] * len(parts)
    return [first, *(first if _same(part, parts[0]) else _tree_digest(part, block) for part in parts[1:])]


def _small_digests(parts: list[Any], blocks: int) -> list[str]:
    """The same of small parts, each of which may be cut into `blocks`."""
    if parts and parts.count(parts[0]) == len(parts):
        return [_small_digest(parts[0], blocks)] * len(parts)
    return [_small_digest(part, blocks) for part in parts]


def _same(one: Any, other: Any) -> bool:
    """Whether two parts of the same length hold the same bytes."""
    if isinstance(one, bytes) and isinstance(other, bytes):
        return one == other
    if bytes(one[:_GLIMPSE]) != bytes(other[:_GLIMPSE]):
        return False
    return bool((_words(one) == _words(other)).all()) if len(one) > _GLIMPSE else True


def _told_apart(parts: list[str]) -> str:
    if not parts:
        return ""
    return f"={parts[0]}" if parts.count(parts[0]) == len(parts) else "".join(part[:SHORT] for part in parts)


def _parts(buffers: list[Any], count: int) -> list[Any]:
    """The bytes cut into `count` parts of the same length, copied only where a part crosses pieces."""
    size = sum(map(len, buffers)) // count if count else 0
    if count == len(buffers) and _are_even(buffers):
        return buffers
    if size and any(len(buffer) % size for buffer in buffers):
        return _cut(b"".join(buffers), count)
    return [part for buffer in buffers for part in _cut(buffer, len(buffer) // size)] if size else []


def _are_even(buffers: list[Any]) -> bool:
    return all(len(buffer) == len(buffers[0]) for buffer in buffers)


def _cut(data: Any, count: int) -> list[Any]:
    size = len(data) // count if count else 0
    return [data[number * size : (number + 1) * size] for number in range(count)]


def differing_copies(copies: list[Any]) -> list[int]:
    """The numbers of the arrays, or bytes, that do not hold the bytes of the first."""
    if isinstance(copies[0], bytes) and copies.count(copies[0]) == len(copies):
        return []
    buffers = [bytes_of(copy) for copy in copies]
    first = buffers[0]
    return [
        number
        for number, buffer in enumerate(buffers)
        if number and not (len(buffer) == len(first) and _same(buffer, first))
    ]


def _words(buffer: Any) -> Any:
    """Bytes in the largest units that fit."""
    import numpy as np

    return np.frombuffer(buffer, np.uint64 if len(buffer) % 8 == 0 else np.uint8)


def bytes_of(array: Any) -> Any:
    """The bytes of a host array where they are; bytes stay what they are."""
    import numpy as np

    if isinstance(array, bytes):
        return array
    if not array.size:
        return memoryview(b"")
    view: memoryview = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    return view


def _flat(buffers: list[Any]) -> str:
    state = hashlib.sha256()
    for buffer in buffers:
        state.update(buffer)
    return _encode(state)


def _digest_of(data: Any) -> str:
    return _encode(hashlib.sha256(data))


def digest_of_text(text: str) -> str:
    """The digest of a text."""
    return _encode(hashlib.sha256(text.encode()))


def _encode(state: Any) -> str:
    return binascii.b2a_base64(state.digest()[:DIGEST_BYTES], newline=False).decode()
