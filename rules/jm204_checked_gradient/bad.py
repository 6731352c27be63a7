import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P


def loss_fn(w, x):
    return jnp.mean((w - x) ** 2)


def gradient(w, x):
    return jax.lax.pmean(jax.grad(loss_fn)(w, x), "i")  # JM204


def main():
    mesh = Mesh(jax.devices(), ("i",))
    x = jnp.ones(16)
    sharded = jax.jit(jax.shard_map(gradient, mesh=mesh, in_specs=(P(), P("i")), out_specs=P()))
    print("gradient of the mean loss", jax.grad(loss_fn)(0.0, x), "pmean of the gradients", sharded(jnp.float32(0.0), x))


if __name__ == "__main__":
    main()
