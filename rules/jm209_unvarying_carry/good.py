import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P


def add(total, row):
    return total + row, None


def total_of(rows):
    start = jax.lax.pcast(jnp.zeros(3), "data", to="varying")
    total, _ = jax.lax.scan(add, start, rows)
    return jax.lax.psum(total, "data")


if __name__ == "__main__":
    mesh = Mesh(jax.devices(), ("data",))
    print(jax.jit(jax.shard_map(total_of, mesh=mesh, in_specs=P("data"), out_specs=P()))(jnp.ones((16, 3))))
