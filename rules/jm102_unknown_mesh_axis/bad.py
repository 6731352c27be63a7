import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P


def add(x):
    return jax.lax.psum(x.sum(), "data")


def total(x):
    mesh = Mesh(jax.devices(), ("data",))
    return jax.jit(jax.shard_map(add, mesh=mesh, in_specs=P("date"), out_specs=P()))(x)  # JM102


def place(x):
    mesh = Mesh(jax.devices(), ("data",))
    return jax.device_put(x, NamedSharding(mesh, P("model")))  # JM102


if __name__ == "__main__":
    for broken in (total, place):
        try:
            broken(jnp.arange(8.0))
        except ValueError as error:
            print(f"ValueError: {error}")
