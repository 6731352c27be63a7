import jax
import jax.numpy as jnp
from flax import jax_utils
from jax.sharding import Mesh, PartitionSpec as P


def loss(weights, x):
    return jax.lax.psum((weights.sum() * x).sum(), "i")


def main():
    mesh = Mesh(jax.devices(), ("i",))
    step = jax.jit(jax.shard_map(loss, mesh=mesh, in_specs=(P(), P("i")), out_specs=P()))
    weights = jax_utils.replicate(jnp.arange(3.0))
    print(step(weights, jnp.arange(8.0)))  # JM503


if __name__ == "__main__":
    main()
