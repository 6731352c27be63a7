import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P


def add(total, row):
    return total + row, None


def total_of(rows):
    total, _ = jax.lax.scan(add, jnp.zeros(3), rows)  # JM209
    return jax.lax.psum(total, "data")


if __name__ == "__main__":
    mesh = Mesh(jax.devices(), ("data",))
    try:
        jax.jit(jax.shard_map(total_of, mesh=mesh, in_specs=P("data"), out_specs=P()))(jnp.ones((16, 3)))
    except TypeError as error:
        print(f"TypeError: {error}")
