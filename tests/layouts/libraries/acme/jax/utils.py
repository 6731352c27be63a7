"""Values on all devices, and the first of them as arrays of numpy's."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp


def replicate_in_all_devices(nest: Any, devices: Sequence[jax.Device] | None = None) -> Any:
    """A slice for each device."""
    count = len(devices or jax.local_devices())
    return jax.tree.map(lambda x: jnp.stack([x] * count), nest)


def get_from_first_device(nest: Any, as_numpy: bool = True) -> Any:
    """The first slice of each array."""
    first = jax.tree.map(lambda x: x[0], nest)
    return jax.device_get(first) if as_numpy else first


def first_replica(nest: Any) -> Any:
    """The first slice of each array, on the host."""
    return get_from_first_device(nest)
