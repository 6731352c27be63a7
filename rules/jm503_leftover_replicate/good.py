import jax
import jax.numpy as jnp
from flax import jax_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P


def loss(weights, x):
    return jax.lax.psum((weights.sum() * x).sum(), "i")


def main():
    mesh = Mesh(jax.devices(), ("i",))
    step = jax.jit(jax.shard_map(loss, mesh=mesh, in_specs=(P(), P("i")), out_specs=P()))
    weights = jax.device_put(jnp.arange(3.0), NamedSharding(mesh, P()))
    print(step(weights, jnp.arange(8.0)))
    p_loss = jax.pmap(loss, axis_name="i")
    print(p_loss(jax_utils.replicate(weights), jnp.arange(8.0)))


if __name__ == "__main__":
    main()
