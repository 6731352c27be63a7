import functools

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P

mapped = functools.partial(jax.shard_map, in_specs=P("data"), out_specs=P("data"), check_vma=False)


def ring(x):
    n = jax.lax.axis_size("data")
    return jax.lax.ppermute(x, "data", [(i, (i + 1) % n) for i in range(n)])


def in_pairs(x):
    groups = [[i, i + 1] for i in range(0, jax.device_count(), 2)]
    return jax.lax.psum(x, "data", axis_index_groups=groups)


def shift(x):
    n = jax.lax.axis_size("data")
    return jax.lax.ppermute(x, "data", perm=[(i, i + 1) for i in range(n - 1)])


if __name__ == "__main__":
    mesh = Mesh(jax.devices(), ("data",))
    for right in (ring, in_pairs, shift):
        print(jax.jit(mapped(right, mesh=mesh))(jnp.ones(8)))
