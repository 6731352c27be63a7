import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P


def scale(x, factor):
    return x * factor


p_scale = jax.pmap(scale, in_axes=(0, None))


def scale_all(x):
    mesh = Mesh(jax.devices(), ("i",))
    mapped = jax.shard_map(scale, mesh=mesh, in_specs=(P("i"), P()), out_specs=P("i"))
    return jax.jit(mapped)(x, 2.0)


if __name__ == "__main__":
    x = jnp.arange(8.0)
    print(p_scale(x, 2.0), scale_all(x))
