"""Digests the bytes of one array such that it can be told from another layout of the same numbers.

The original hands stacked arrays to its mapped functions, with one slice per device; a rewrite may hand the same
numbers over as one replicated array, or as one array that is split into blocks. So of an array on the original side
the digests of its slices are taken, and of one on the rewritten side those of itself and of its blocks, one for each
device. No more is hashed than may be needed: slices that repeat the first are compared with it, which is several
times as fast, and most of what a pmap program holds is replicated.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any, NamedTuple

DIGEST_BYTES = 12
# Characters of a digest that tell the slices of one array apart well enough to say which one is wrong.
SHORT = 6
MOST_SLICES = 64
_LARGE_SLICE = 1 << 12


class Shape(NamedTuple):
    """What decides which digests are taken: the side, the devices of this process, and the array's own shape.

    `split` says that the array lies in as many pieces along its leading axis as there are devices, so that it cannot
    be a replicated one.
    """

    original: bool
    devices: int
    shape: tuple[int, ...]
    split: bool = False

    @property
    def by_slice(self) -> bool:
        """Whether the leading axis has one slice for each device."""
        return bool(self.shape) and self.shape[0] == self.devices

    @property
    def parts(self) -> int:
        """How many equal parts of the leading axis get a digest of their own; 0 for none."""
        if not self.shape or not self.shape[0]:
            return 0
        if self.original:
            return self.shape[0] if self.shape[0] <= MOST_SLICES else 0
        return self.devices if self.shape[0] % self.devices == 0 else 0


class Content(NamedTuple):
    """The digests of one array.

    `whole` is that of the digests of all slices where there is one slice for each device, else that of all bytes in
    a row. `flat` is that of all bytes, where that is known and not `whole`. `split` is that of the digests of as many
    blocks as there are devices. `parts` tells the slices or blocks apart: `=` and the digest of each if all are equal,
    else the first characters of each. `replicas` numbers the copies that differ from the first one.
    """

    whole: str
    flat: str = ""
    split: str = ""
    parts: str = ""
    replicas: str = ""

    def text(self) -> str:
        """All digests in one line."""
        return "\t".join(self).rstrip("\t")

    @property
    def identity(self) -> str:
        """What two arrays of the same shape have in common if and only if they hold the same bytes."""
        return f"{self.whole}\t{self.replicas}" if self.replicas else self.whole


def content(pieces: list[Any], shape: Shape, replicas: str = "") -> Content:
    """The digests of an array whose bytes are those of `pieces`, one after the other."""
    buffers = [_bytes_of(piece) for piece in pieces]
    parts = _digests_of(_equal_parts(buffers, shape.parts))
    combined = digest_of_text("".join(parts)) if parts else ""
    if shape.by_slice and parts:
        flat = "" if shape.original or shape.split else _flat(buffers)
        return Content(combined, flat, "", _told_apart(parts), replicas)
    return Content(_flat(buffers), "", "" if shape.original else combined, _told_apart(parts), replicas)


def _digests_of(parts: list[memoryview]) -> list[str]:
    """The digest of each part; large parts that repeat the first are not hashed."""
    if not parts or len(parts[0]) < _LARGE_SLICE:
        return [_digest_of(part) for part in parts]
    first, words = _digest_of(parts[0]), _words(parts[0])
    return [first, *(first if bool((_words(part) == words).all()) else _digest_of(part) for part in parts[1:])]


def _told_apart(parts: list[str]) -> str:
    if not parts:
        return ""
    same = all(part == parts[0] for part in parts)
    return f"={parts[0]}" if same else "".join(part[:SHORT] for part in parts)


def _equal_parts(buffers: list[memoryview], count: int) -> list[memoryview]:
    """The bytes cut into `count` parts of the same length, copied only where a part crosses pieces."""
    total = sum(len(buffer) for buffer in buffers)
    if not count:
        return []
    size = total // count
    if not size:
        return [memoryview(b"")] * count
    if any(len(buffer) % size for buffer in buffers):
        buffers = [memoryview(b"".join(buffers))]
    return [buffer[start : start + size] for buffer in buffers for start in range(0, len(buffer), size)]


def differing_copies(copies: list[Any]) -> list[int]:
    """The numbers of the arrays that do not hold the bytes of the first."""
    if len(copies) < 2 or not copies[0].nbytes:
        return []
    first = _words(_bytes_of(copies[0]))
    return [number for number, copy in enumerate(copies) if number and bool((_words(_bytes_of(copy)) != first).any())]


def _words(buffer: memoryview) -> Any:
    """Bytes in the largest units that fit."""
    import numpy as np

    return np.frombuffer(buffer, np.uint64 if len(buffer) % 8 == 0 else np.uint8)


def _bytes_of(array: Any) -> memoryview:
    import numpy as np

    if not array.size:
        return memoryview(b"")
    view: memoryview = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    return view


def _flat(buffers: list[memoryview]) -> str:
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
    return base64.b64encode(state.digest()[:DIGEST_BYTES]).decode()


def write(place: str, pieces: list[Any]) -> None:
    """Write the bytes of all pieces to a file."""
    with open(place, "wb") as file:
        file.writelines(_bytes_of(piece) for piece in pieces)
