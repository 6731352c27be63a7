"""Reads many small arrays at once, by what is known of those of the calls before.

JAX takes some microseconds for every part of every array that it hands out, which for the hundreds of small arrays of a
training state on eight devices is more than the training step takes. So where there are that many, each device copies
what it has of them into one array, and that is read. The copy is made by a program of our own without collectives, on
the devices where the arrays lie, and moves bits as they are. It is compiled, so only what comes again and again is read
in this way. Telling all devices to copy takes longer than reading a few arrays, which are read one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from .content import Content, Leaf, Shape, bytes_of, content, copied_content, differing_copies, repeated_content
from .rows import Part, Row
from .shards import arrangement, on_devices
from .values import is_array

# Calls of one kind before reading them together pays for compiling that, and what it takes for it to be worth while.
_PATIENCE = 48
_FEWEST = 4
# Parts of arrays, on all devices together, that are read in less time than it takes to have them copied.
_MOST_PARTS = 256
_MOST_BYTES = 1 << 16
_MOST_BYTES_TOGETHER = 8 << 20
_MOST_REMEMBERED = 4096
# Kinds of calls of one site whose readers are kept: calls of which arrays are left on disk are of kinds of their own.
_MOST_KINDS = 16
_AS_THEY_ARE = frozenset(("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float32"))
# XLA computes with these as float32 on some processors, even where it only moves them.
_AS_INTEGERS = frozenset(("bfloat16", "float16"))
# So few arrays are put into the row of others with numbers of the same size, since every row costs time.
_FEW = 4
_OF_ONE_SIZE = ("float32", "int32", "uint32")


class _Array(NamedTuple):
    """What one array has in common with those of other calls; `size` is the number of its bytes on a device."""

    leaf: Leaf
    size: int
    is_copied: bool
    devices: tuple[int, ...]


class _Reader(NamedTuple):
    """A compiled copy of arrays of one kind, and for each row of it how it is taken apart."""

    copy: Any
    rows: tuple[Row, ...]


class _Kind:
    """What is known of calls of one kind: how often there were some, and what reads them; None if nothing does."""

    def __init__(self, arrays: tuple[_Array, ...]) -> None:
        self.arrays = arrays
        self.seen = 0
        self.reader: _Reader | None = None
        self.is_hopeless = False
        self.is_few = sum(len(array.devices) for array in arrays) <= _MOST_PARTS


class Asked(NamedTuple):
    """The numbers of arrays of a kind, and what is read for them: the copy that their devices have been told to make.

    Few arrays are not copied, but read themselves.
    """

    numbers: Sequence[int]
    kind: _Kind | None
    rows: Any


_NOTHING = Asked((), None, ())


class Together:
    """Reads the arrays of the calls of one site."""

    def __init__(self) -> None:
        self.kinds: dict[tuple[_Array, ...], _Kind] = {}
        self.last_kind: _Kind | None = None
        self.last: dict[int, tuple[Any, Any, _Array | None]] = {}

    def ask(self, values: Sequence[Any], numbers: Sequence[int]) -> Asked:
        """Has those of the arrays with these numbers copied that are read together; they need not be computed yet."""
        if len(numbers) < _FEWEST:
            return _NOTHING
        try:
            found = [(number, array) for number in numbers if (array := self._small(number, values[number]))]
        except Exception:  # noqa: BLE001 - whatever JAX has against it, they can be read one by one
            return _NOTHING
        if len(found) < _FEWEST:
            return _NOTHING
        chosen, arrays = zip(*found)  # noqa: B905 - Python 3.9 has no strict
        kind = self._kind(arrays)
        if kind.is_few and not kind.is_hopeless:
            return Asked(chosen, kind, [values[number] for number in chosen])
        kind.seen += 1
        if kind.seen < _PATIENCE or kind.is_hopeless or not _is_free():
            return _NOTHING
        try:
            if kind.reader is None:
                kind.reader = _reader(arrays, on_devices(values[chosen[0]]))
            return Asked(chosen, kind, kind.reader.copy(*(values[number] for number in chosen)))
        except Exception:  # noqa: BLE001 - as above
            kind.is_hopeless = True
            return _NOTHING

    def read(self, asked: Asked, original: bool, devices: int) -> Iterator[tuple[int, tuple[Leaf, Content]]]:
        """Describes the arrays that were asked for; `devices` is the number of all there are."""
        numbers, kind, rows = asked
        if kind is None:
            return
        try:
            if kind.reader is None:
                found = [(at, _held(array, rows[at])) for at, array in enumerate(kind.arrays)]
            else:
                found = _copied(kind.reader, rows, len(kind.arrays[0].devices))
        except Exception:  # noqa: BLE001 - as above
            kind.is_hopeless = True
            return
        for at, data in found:
            array = kind.arrays[at]
            yield numbers[at], (array.leaf, _content(array, data, original, devices))

    def _kind(self, arrays: tuple[_Array, ...]) -> _Kind:
        kind = self.last_kind
        # Most of the arrays are the same objects as in the call before, so that this is done sooner than looking it up.
        if kind is None or kind.arrays != arrays:
            kind = self.kinds.get(arrays)
        if kind is None:
            if len(self.kinds) >= _MOST_KINDS:
                self.kinds.clear()
            kind = self.kinds.setdefault(arrays, _Kind(arrays))
        self.last_kind = kind
        return kind

    def _small(self, number: int, value: Any) -> _Array | None:
        """An array that can be read together with others; most are as they were in the call before."""
        if not is_array(type(value)) or value.is_deleted():
            return None
        aval, sharding = value.aval, value.sharding
        last = self.last.get(number)
        if last is None or last[0] is not aval or last[1] is not sharding:
            last = self.last[number] = (aval, sharding, _small(value))
        return last[2]


def _content(array: _Array, data: list[bytes], original: bool, devices: int) -> Content:
    """The digests of an array of which the devices have `data`, or all of them the one entry of it."""
    count = len(array.devices)
    shape = Shape(original, devices, array.leaf.shape, 0 if count != devices else 1 if array.is_copied else count)
    if len(data) == 1:
        return copied_content(data[0], shape) if array.is_copied else repeated_content(data[0], count, shape)
    if not array.is_copied:
        return content(data, shape)
    wrong = sorted(array.devices[copy] for copy in differing_copies(data))
    return content(data[:1], shape, ",".join(map(str, wrong)))


# Looking at an array takes longer than copying it, and most are like others.
_REMEMBERED: dict[Any, _Array | None] = {}


def _small(value: Any) -> _Array | None:
    # Arrays of keys have no weak type; they are read one by one, and do not keep others from being read together.
    key = (value.sharding, value.shape, value.dtype, getattr(value, "weak_type", False))
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
        raise ValueError("arrays on different devices")
    rows = _rows([array.leaf.dtype for array in kind])
    if sum(array.size for array in kind) > _MOST_BYTES_TOGETHER:
        raise ValueError("the arrays are too large to copy at once")
    parts: dict[int, Part] = {}
    ends = [0] * len(rows)
    for number, row in enumerate(rows.values()):
        for at in row:
            parts[at] = Part(ends[number], ends[number] + kind[at].size)
            ends[number] += kind[at].size
    copy = _compiled(kind, rows, [shard.device for shard in shards])
    return _Reader(copy, tuple(Row({at: parts[at] for at in row}, end) for row, end in zip(rows.values(), ends)))  # noqa: B905


def _rows(dtypes: list[str]) -> dict[str, list[int]]:
    """For each dtype the numbers of the arrays that are copied as such, one after the other."""
    rows: dict[str, list[int]] = {}
    for number, dtype in enumerate(dtypes):
        rows.setdefault(dtype, []).append(number)
    alike = sorted((dtype for dtype in rows if dtype in _OF_ONE_SIZE), key=lambda dtype: len(rows[dtype]))
    for dtype in alike[:-1]:
        # Many that are taken for another dtype would be copied number by number.
        if len(rows[dtype]) <= _FEW:
            rows[alike[-1]] += rows.pop(dtype)
    return rows


def _compiled(kind: tuple[_Array, ...], rows: Mapping[str, list[int]], devices: list[Any]) -> Any:
    """Puts the arrays of each row one after the other on each device."""
    import jax
    import numpy as np

    def copy(*values: Any) -> Any:
        return tuple(
            jax.numpy.concatenate([_flat(values[number], dtype) for number in row]) for dtype, row in rows.items()
        )

    mesh, spec = jax.sharding.Mesh(np.asarray(devices), ("jaxmigrate",)), cast("Any", jax.sharding.PartitionSpec)
    specs: tuple[Any, ...] = tuple(spec() if array.is_copied else spec("jaxmigrate") for array in kind)
    return jax.jit(jax.shard_map(copy, mesh=mesh, in_specs=specs, out_specs=spec("jaxmigrate"), check_vma=False))


def _flat(value: Any, dtype: str) -> Any:
    import jax

    seen = "uint16" if dtype in _AS_INTEGERS else dtype
    if value.dtype.name != seen:
        value = jax.lax.bitcast_convert_type(value, seen)
    return value.reshape(-1)


def _copied(reader: _Reader, copies: Any, devices: int) -> list[tuple[int, list[bytes]]]:
    """What each device has of each array; only what the first has where all have the same."""
    held = [[_buffer(part) for part in on_devices(copy)] for copy in copies]
    lengths = [[row.length] * devices for row in reader.rows]
    assert [[len(one) for one in row] for row in held] == lengths, (
        "the copies on the devices do not have the arrays' sizes"
    )
    return [found for row, buffers in zip(reader.rows, held) for found in row.split(buffers)]  # noqa: B905


def _held(array: _Array, value: Any) -> list[bytes]:
    """What each device has of an array; only what the first has where all have the same."""
    buffers = [_buffer(part) for part in on_devices(value)]
    assert [len(buffer) for buffer in buffers] == [array.size] * len(array.devices), "an array of another size"
    # Of all ways to compare bytes where they are, that of a bytearray is the fastest.
    first = bytearray(buffers[0])
    if all(first == buffer for buffer in buffers[1:]):
        return [bytes(first)]
    return [buffer.tobytes() for buffer in buffers]


def _buffer(part: Any) -> memoryview:
    """The bytes that a device has where they are; no view of them may outlive this module's functions."""
    import numpy as np

    try:
        return memoryview(part).cast("B")
    except (TypeError, ValueError, BufferError, RuntimeError, NotImplementedError):
        view: memoryview = bytes_of(np.asarray(part))
        return view
