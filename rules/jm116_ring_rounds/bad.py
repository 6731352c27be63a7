import functools

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P

mapped = functools.partial(jax.shard_map, in_specs=P("data"), out_specs=P("data"), check_vma=False)


def turned(x):
    n = jax.lax.axis_size("data")
    return jax.lax.ppermute(x, "data", [(i, (i + 1) % n) for i in range(n)])


def total(x):
    result, block = x, x
    for _ in range(jax.lax.axis_size("data")):  # JM116
        block = turned(block)
        result = result + block
    return result


def gathered(x):
    n, me = jax.lax.axis_size("data"), jax.lax.axis_index("data")

    def place(i, carry):
        block, out = carry
        out = jax.lax.dynamic_update_slice(out, block, ((me + i) % n,))  # JM116
        return turned(block), out

    return jax.lax.fori_loop(0, n, place, (x, jnp.zeros(n)))[1]


if __name__ == "__main__":
    mesh = Mesh(jax.devices(), ("data",))
    x = jnp.arange(jax.device_count(), dtype=float)
    print(jax.jit(mapped(total, mesh=mesh))(x), "instead of", x.sum())
    print(jax.jit(mapped(gathered, mesh=mesh))(x)[: len(x)], "instead of", x)
