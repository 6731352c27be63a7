import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P


def total(x):
    return jax.lax.psum(x[0], "i")  # JM502


def loss(x):
    return jax.lax.pmean(jnp.mean(x), "i")


def main():
    mesh = Mesh(jax.devices(), ("i",))
    x = jnp.arange(16.0)
    print(jax.jit(jax.shard_map(total, mesh=mesh, in_specs=P("i"), out_specs=P()))(x))
    p_loss = jax.jit(jax.shard_map(loss, mesh=mesh, in_specs=P("i"), out_specs=P()))
    value = p_loss(x)
    print(value[0])  # JM502


if __name__ == "__main__":
    try:
        main()
    except IndexError as error:
        print(f"IndexError: {error}")
