"""Reads many small arrays at once: each device copies what it has of them into one array, and that is read.

JAX takes some microseconds for every part of every array that it hands out, which for the hundred small arrays of a
training state on eight devices is more than the training step takes. The copy is made by a program of our own without
collectives, on the devices where the arrays lie, and moves bits as they are. It is compiled, so only what comes again
and again is read in this way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

from .content import Content, Leaf, Shape, content, differing_copies, repeated_content
from .shards import arrangement, on_devices

# Calls of one kind before reading them together pays for compiling that, and what it takes for it to be worth while.
_PATIENCE = 48
_FEWEST = 4
_MOST_BYTES = 1 << 16
_MOST_BYTES_TOGETHER = 8 << 20
_MOST_REMEMBERED = 4096
_AS_THEY_ARE = frozenset(("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float32"))
# XLA computes with these as float32 on some processors, even where it only moves them.
_AS_INTEGERS = frozenset(("bfloat16", "float16"))


class _Array(NamedTuple):
    """What one array has in common with those of other calls; `size` is the number of its bytes on a device."""

    leaf: Leaf
    size: int
    is_copied: bool
    devices: tuple[int, ...]


class _Part(NamedTuple):
    """Where the bytes of an array are in what is read of each device: in which row, from where, to where."""

    row: int
    start: int
    stop: int


class _Reader(NamedTuple):
    """A compiled copy of arrays of one kind, where each of them ends up, and the lengths of the rows."""

    kind: tuple[_Array, ...]
    copy: Any
    parts: tuple[_Part, ...]
    lengths: tuple[int, ...]


# For arrays that are read one by one.
_NONE = _Reader((), None, (), ())


class Together:
    """Reads the arrays of the calls of one site."""

    def __init__(self) -> None:
        self.kind: tuple[_Array, ...] = ()
        self.seen = 0
        self.reader: _Reader | None = None

    def read(
        self, values: Mapping[int, Any], original: bool, devices: int
    ) -> Iterator[tuple[int, tuple[Leaf, Content]]]:
        """Describes those of the arrays that are read together; `devices` is the number of all there are."""
        if len(values) < _FEWEST:
            return
        try:
            chosen = {number: array for number, value in values.items() if (array := _small(value)) is not None}
            read = self._read([values[number] for number in chosen], tuple(chosen.values()))
        except Exception:  # noqa: BLE001 - whatever JAX has against it, they can be read one by one
            self.reader = _NONE
            return
        for (number, array), data in zip(chosen.items(), read):  # noqa: B905 - Python 3.9 has no strict
            yield number, (array.leaf, _content(array, data, original, devices))

    def _read(self, values: list[Any], kind: tuple[_Array, ...]) -> list[list[bytes]]:
        if kind != self.kind:
            self.kind, self.seen, self.reader = kind, 0, None
        self.seen += 1
        if len(kind) < _FEWEST or self.seen < _PATIENCE or self.reader is _NONE or not _is_free():
            return []
        reader = self.reader or _reader(kind, on_devices(values[0]))
        self.reader = reader
        # Another thread may be at calls of another kind.
        return _copied(reader, values, len(kind[0].devices)) if reader.kind == kind else []


def _content(array: _Array, data: list[bytes], original: bool, devices: int) -> Content:
    """The digests of an array of which the devices have `data`, or all of them the one entry of it."""
    count = len(array.devices)
    shape = Shape(original, devices, array.leaf.shape, 0 if count != devices else 1 if array.is_copied else count)
    if len(data) == 1:
        return content(data, shape) if array.is_copied else repeated_content(data[0], count, shape)
    if not array.is_copied:
        return content(data, shape)
    wrong = sorted(array.devices[copy] for copy in differing_copies(data))
    return content(data[:1], shape, ",".join(map(str, wrong)))


# Looking at an array takes longer than copying it, and most are like others.
_REMEMBERED: dict[Any, _Array | None] = {}


def _small(value: Any) -> _Array | None:
    """An array that can be read together with others."""
    import jax

    if not isinstance(value, jax.Array) or isinstance(value, jax.core.Tracer) or value.is_deleted():
        return None
    key = (value.sharding, value.shape, value.dtype, value.weak_type)
    try:
        return _REMEMBERED[key]
    except KeyError:
        if len(_REMEMBERED) >= _MOST_REMEMBERED:
            _REMEMBERED.clear()
    return _REMEMBERED.setdefault(key, _looked_at(value))


def _looked_at(value: Any) -> _Array | None:
    import jax

    dtype, sharding = value.dtype.name, value.sharding
    if dtype not in (*_AS_THEY_ARE, *_AS_INTEGERS) or not value.is_fully_addressable:
        return None
    if not isinstance(sharding, jax.sharding.NamedSharding) or _is_elsewhere(sharding):
        return None
    lies = arrangement(value)
    if len(lies.devices) < 2 or not (lies.is_copied or lies.is_stacked):
        return None
    size = int(value.nbytes) // len(lies.places)
    if not 0 < size <= _MOST_BYTES:
        return None
    leaf = Leaf("array", dtype, tuple(value.shape), bool(value.weak_type))
    return _Array(leaf, size, lies.is_copied, lies.devices)


def _is_elsewhere(sharding: Any) -> bool:
    """Whether arrays are not in the memory in which their devices compute."""
    return sharding.memory_kind not in (None, next(iter(sharding.device_set)).default_memory().kind)


def _is_free() -> bool:
    """Whether JAX now computes what it is told to, without tracing or checking it."""
    import jax
    from jax._src import core

    config: Any = jax.config
    checks = config.jax_debug_nans or config.jax_debug_infs or config.jax_disable_jit or config.jax_check_tracer_leaks
    return bool(core.trace_state_clean()) and not checks


def _reader(kind: tuple[_Array, ...], shards: list[Any]) -> _Reader:
    if any(array.devices != kind[0].devices for array in kind):
        return _NONE
    dtypes = tuple(dict.fromkeys(array.leaf.dtype for array in kind))
    parts, ends = [], [0] * len(dtypes)
    for array in kind:
        row = dtypes.index(array.leaf.dtype)
        parts.append(_Part(row, ends[row], ends[row] + array.size))
        ends[row] += array.size
    if sum(ends) > _MOST_BYTES_TOGETHER:
        return _NONE
    rows = [[number for number, part in enumerate(parts) if part.row == row] for row in range(len(dtypes))]
    return _Reader(kind, _compiled(kind, rows, [shard.device for shard in shards]), tuple(parts), tuple(ends))


def _compiled(kind: tuple[_Array, ...], rows: list[list[int]], devices: list[Any]) -> Any:
    """Puts the arrays of each row one after the other on each device."""
    import jax
    import numpy as np

    def copy(*values: Any) -> Any:
        return tuple(jax.numpy.concatenate([_flat(values[number]) for number in row]) for row in rows)

    mesh, spec = jax.sharding.Mesh(np.asarray(devices), ("jaxmigrate",)), cast("Any", jax.sharding.PartitionSpec)
    specs: tuple[Any, ...] = tuple(spec() if array.is_copied else spec("jaxmigrate") for array in kind)
    return jax.jit(jax.shard_map(copy, mesh=mesh, in_specs=specs, out_specs=spec("jaxmigrate"), check_vma=False))


def _flat(value: Any) -> Any:
    import jax

    if value.dtype.name in _AS_INTEGERS:
        value = jax.lax.bitcast_convert_type(value, "uint16")
    return value.reshape(-1)


def _copied(reader: _Reader, values: list[Any], devices: int) -> list[list[bytes]]:
    """What each device has of each array; only what the first has where all have the same in a row."""
    rows = [_bytes_of(copy) for copy in reader.copy(*values)]
    lengths = [[length] * devices for length in reader.lengths]
    assert [[len(one) for one in row] for row in rows] == lengths, "JAX has made something else of it"
    rows = [row[:1] if row.count(row[0]) == len(row) else row for row in rows]
    return [[one[part.start : part.stop] for one in rows[part.row]] for part in reader.parts]


def _bytes_of(copied: Any) -> list[bytes]:
    import numpy as np

    return [np.asarray(part).tobytes() for part in on_devices(copied)]
