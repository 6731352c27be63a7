import functools

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P

mapped = functools.partial(jax.shard_map, in_specs=P("data"), out_specs=P("data"), check_vma=False)


def twice(x):
    n = jax.lax.axis_size("data")
    return jax.lax.ppermute(x, "data", [(i, min(i + 1, n - 1)) for i in range(n)])  # JM108


def in_two_groups(x):
    n = jax.device_count()
    groups = [[i, i + 1] for i in range(n - 1)]  # JM108
    return jax.lax.psum(x, "data", axis_index_groups=groups)


def open_ring(x):
    n = jax.lax.axis_size("data")
    return jax.lax.ppermute(x, "data", perm=[(i, (i + 1) % n) for i in range(n - 1)])  # JM108


if __name__ == "__main__":
    mesh = Mesh(jax.devices(), ("data",))
    for broken in (twice, in_two_groups):
        try:
            jax.jit(mapped(broken, mesh=mesh))(jnp.ones(8))
        except ValueError as error:
            print(f"ValueError: {error}")
    print(jax.jit(mapped(open_ring, mesh=mesh))(jnp.ones(8)))
