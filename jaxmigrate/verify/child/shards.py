"""The bytes of an array that lies on several devices, part by part, and whether the copies of a part are alike."""

from __future__ import annotations

from typing import Any, NamedTuple

from .content import SMALL, differing_copies

_MOST_REMEMBERED = 4096


class Arrangement(NamedTuple):
    """Which of an array's shards hold which part of it.

    `places` lists for each part, in the order of the array, the numbers of the shards that hold it; `devices` the
    devices of all shards. `by_rows` says that every part is made of whole rows.
    """

    places: tuple[tuple[int, ...], ...]
    devices: tuple[int, ...]
    by_rows: bool

    @property
    def copied(self) -> bool:
        """Whether some part is held more than once."""
        return len(self.places) < len(self.devices)

    @property
    def is_copied(self) -> bool:
        """Whether every device has all of it."""
        return len(self.places) == 1

    @property
    def is_stacked(self) -> bool:
        """Whether every device has rows of its own, in the order of the devices."""
        return self.by_rows and self.places == tuple((number,) for number in range(len(self.devices)))


class Pieces(NamedTuple):
    """Host arrays, or bytes, that are one after the other those of an array, or of the part that this process has.

    `copies` names the devices whose copy of a part is not like the first one. Unless `by_rows`, the pieces of a part of
    an array are in no order that means anything. The parts lie in `places` places on `devices` devices. `apart` is what
    the devices have of an array that is split along an axis within, in the order of the parts, or of one that some
    devices have the same rows of, in the order of the devices.
    """

    arrays: list[Any]
    copies: str
    by_rows: bool
    places: int
    devices: int
    apart: list[Any] = []  # noqa: RUF012 - never changed


# Working out who has what takes longer than reading it, and most arrays lie as others do.
_REMEMBERED: dict[Any, Arrangement] = {}


def pieces_of(value: Any) -> Pieces:
    """The pieces of a jax Array."""
    import numpy as np

    found = arrangement(value)
    is_whole = value.is_fully_addressable
    parts = on_devices(value)
    data = on_host(parts) if is_whole and found.by_rows else [np.asarray(part) for part in parts]
    copies = _wrong_copies(found, data) if found.copied else ""
    counts = (len(found.places), len(found.devices))
    if is_whole and not found.by_rows:
        apart = [data[place[0]] for place in found.places] if len(found.places) == len(found.devices) else []
        return Pieces([_assemble(value, data)], copies, True, *counts, apart)
    first = [data[place[0]] for place in found.places]
    if is_whole and found.copied and not found.is_copied:
        return Pieces(first, copies, True, *counts, data)
    if not is_whole:
        # Shards of some old versions lack the axis along which the array is split.
        first = [part if part.ndim == value.ndim else part[None] for part in first]
    return Pieces(first, copies, found.by_rows, *counts)


def on_host(parts: list[Any]) -> list[Any]:
    """What devices have, row-major: bytes if these are few, else host arrays.

    A buffer itself is handed out several times as fast as a host array. GPUs have none, nor have the dtypes that Python
    does not know.
    """
    import numpy as np

    try:
        if parts and memoryview(parts[0]).nbytes <= SMALL:
            return [memoryview(part).tobytes() for part in parts]
    except (TypeError, ValueError, BufferError, RuntimeError, NotImplementedError):
        pass
    return [np.asarray(part) for part in parts]


def on_devices(value: Any) -> list[Any]:
    """What each device of this process has of an array; where JAX lets one, without the facts that come with it."""
    parts: list[Any] | None = getattr(value, "_arrays", None)
    return parts if isinstance(parts, list) else [shard.data for shard in value.addressable_shards]


def _wrong_copies(found: Arrangement, data: list[Any]) -> str:
    """The devices whose copy of a part is not like the first one."""
    wrong = [number for place in found.places for number in _differing(place, data)]
    return ",".join(str(device) for device in sorted(found.devices[number] for number in wrong))


def _differing(place: tuple[int, ...], data: list[Any]) -> list[int]:
    return [place[number] for number in differing_copies([data[number] for number in place])]


def arrangement(value: Any) -> Arrangement:
    """Where the shards of an array that this process has belong in it."""
    try:
        key = (value.sharding, value.shape)
        found = _REMEMBERED.get(key)
    except TypeError:
        return _arranged(value)
    if found is None:
        if len(_REMEMBERED) >= _MOST_REMEMBERED:
            _REMEMBERED.clear()
        found = _REMEMBERED[key] = _arranged(value)
    return found


def _arranged(value: Any) -> Arrangement:
    shards = value.addressable_shards
    places: dict[Any, list[int]] = {}
    for number, shard in enumerate(shards):
        places.setdefault(_place_of(shard.index), []).append(number)
    by_rows = not any(_splits_inner(shard.index, value.shape) for shard in shards)
    ordered = tuple(tuple(places[place]) for place in sorted(places))
    return Arrangement(ordered, tuple(int(shard.device.id) for shard in shards), by_rows)


def _assemble(value: Any, data: list[Any]) -> Any:
    """The whole array on the host; `np.asarray(value)` would leave a copy of it with the program's own array."""
    import numpy as np

    whole = np.empty(value.shape, value.dtype)
    for shard, part in zip(value.addressable_shards, data):  # noqa: B905 - Python 3.9 has no strict
        whole[shard.index] = part
    return whole


def _place_of(index: Any) -> tuple[tuple[int, int], ...]:
    return tuple(
        (part.start or 0, -1 if part.stop is None else part.stop) if isinstance(part, slice) else (int(part), -1)
        for part in index
    )


def _splits_inner(index: Any, shape: tuple[int, ...]) -> bool:
    return any(
        not isinstance(part, slice) or (part.start or 0) > 0 or part.stop not in (None, size)
        for part, size in zip(index[1:], shape[1:])  # noqa: B905 - Python 3.9 has no strict
    )
