import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P


def update(weights, x):
    return weights - jax.lax.pmean(jnp.sin(weights) * jnp.tanh(x).mean(), "i")


def main():
    mesh = Mesh(jax.devices(), ("i",))
    step = jax.jit(jax.shard_map(update, mesh=mesh, in_specs=(P(), P("i")), out_specs=P()))
    weights, x = jnp.ones((64, 64)), jnp.arange(8.0)
    print(step(weights, x).mean())


if __name__ == "__main__":
    main()
