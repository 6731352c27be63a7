"""Moves the numbers that go into a mapped call by one rounding, to see how far that moves what comes out.

What a program computes is known no better than that: whoever adds the same numbers in another order gets results that
differ as much. Equal numbers in the same place move alike, so that copies of one array stay copies. Zeros and whole
numbers stay: they are masks, labels and counts, which no rounding touches.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .values import is_array

# The bits of the fraction, by the names in which JAX and MLIR have them.
_FRACTION = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}
_FINEST = max(_FRACTION.values())
_COARSE = {"bf16": 7, "f16": 10}


def fraction_bits(types: Iterable[str]) -> int:
    """The bits of the coarsest fraction that a function computes with, by the types of numbers that occur in it."""
    return min((_COARSE[name] for name in types), default=_FINEST)


def nudged(values: list[Any], bits: int, salt: int) -> list[Any]:
    """The values, each number of which is moved by one rounding of a fraction with so many bits, up or down."""
    return [_nudged(value, bits, salt + number) for number, value in enumerate(values)]


def delete_donated(values: list[Any], moved: list[Any]) -> None:
    """Delete the arrays in whose place others were donated, as the call would have done with them."""
    for value, other in zip(values, moved):  # noqa: B905 - Python 3.9 has no strict
        if other is not value and is_array(type(other)) and other.is_deleted() and is_array(type(value)):
            value.delete()


def _nudged(value: Any, bits: int, salt: int) -> Any:
    import numpy as np

    try:
        if is_array(type(value)):
            return _nudged_on_devices(value, bits, salt)
        if isinstance(value, np.ndarray) and value.dtype.name in _FRACTION:
            return moved(value, bits, salt)
    except Exception:  # noqa: BLE001 - what cannot be moved stays as it is
        return value
    return value


def _nudged_on_devices(value: Any, bits: int, salt: int) -> Any:
    import jax
    import numpy as np

    if str(value.dtype) not in _FRACTION or value.is_deleted() or getattr(value, "weak_type", False):
        return value
    if len(value.sharding.device_set) == 1 and not getattr(value, "_committed", True):
        return jax.numpy.asarray(moved(np.asarray(value), bits, salt))
    shards = value.addressable_shards
    parts = [jax.device_put(moved(np.asarray(shard.data), bits, salt), shard.device) for shard in shards]
    return jax.make_array_from_single_device_arrays(value.shape, value.sharding, parts)


def moved(array: Any, bits: int, salt: int) -> Any:
    """The array with each number moved to the next one, up or down as its bits and its place in the row say.

    A fraction of fewer bits than the array's own is that of what is computed from it: half of its last place is moved.
    """
    import numpy as np

    own = _FRACTION[array.dtype.name]
    step = 1 if bits >= own else 1 << (own - bits - 1)
    unit = np.dtype(f"u{array.dtype.itemsize}")
    numbers = np.ascontiguousarray(array).view(unit)
    wide = array.astype(np.float64)
    # The first axis may count devices, whose slices move alike if they are alike.
    inner = numbers[:1].size if array.ndim else 1
    place = np.resize(np.arange(inner, dtype=np.uint64), numbers.shape)
    mixed = (numbers.astype(np.uint64) + place * np.uint64(0x9E3779B97F4A7C15) + np.uint64(salt)) * np.uint64(
        0xBF58476D1CE4E5B9
    )
    up = (mixed >> np.uint64(40)) & np.uint64(1)
    stays = ~np.isfinite(wide) | (wide == np.round(wide))
    change = np.where(up.astype(bool), unit.type(step), (~unit.type(0)) - unit.type(step - 1))
    with np.errstate(over="ignore"):
        found = np.where(stays, numbers, numbers + change).astype(unit)
    result = found.view(array.dtype)
    return np.where(np.isfinite(result.astype(np.float64)), result, array).astype(array.dtype)
