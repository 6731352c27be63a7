"""Values on all devices, and reductions that are none outside of a map."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

p_split = jax.pmap(lambda key: tuple(jax.random.split(key)))


def in_pmap(axis_name: str | None) -> bool:
    """Whether an axis is bound."""
    try:
        return axis_name is not None and jax.lax.axis_size(axis_name) > 0
    except NameError:
        return False


def pmean_if_pmap(obj: Any, axis_name: str | None) -> Any:
    """The mean over the devices where the axis is bound."""
    return jax.lax.pmean(obj, axis_name) if in_pmap(axis_name) else obj  # type: ignore[no-untyped-call]


def psum_if_pmap(obj: Any, axis_name: str | None) -> Any:
    """The sum over the devices where the axis is bound."""
    return jax.lax.psum(obj, axis_name) if in_pmap(axis_name) else obj  # type: ignore[no-untyped-call]


def replicate_all_local_devices(obj: Any, axis_name: str | None = None) -> Any:
    """A slice for each device of the process."""
    mesh = Mesh(jax.local_devices(), (axis_name or "all",))
    sharding = NamedSharding(mesh, PartitionSpec(*mesh.axis_names))  # type: ignore[no-untyped-call]
    return jax.tree.map(lambda x: jax.device_put(jnp.stack([x] * mesh.size), sharding), obj)


def make_different_rng_key_on_all_devices(rng: jax.Array) -> jax.Array:
    """A key for each device."""
    return jax.random.split(jax.random.fold_in(rng, jax.process_index()), jax.local_device_count())


def get_first(obj: Any) -> Any:
    """The first slice of each array."""
    return jax.tree.map(lambda x: x[0], obj)
