import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P


def add(x):
    return jax.lax.psum(x.sum(), "data")


def total(x):
    mesh = Mesh(jax.devices(), ("data",))
    return jax.jit(jax.shard_map(add, mesh=mesh, in_specs=P("data"), out_specs=P()))(x)


def place(x, mesh):
    return jax.device_put(x, NamedSharding(mesh, P("model")))


if __name__ == "__main__":
    print(total(jnp.arange(8.0)))
    print(place(jnp.arange(8.0), Mesh(jax.devices(), ("model",))))
