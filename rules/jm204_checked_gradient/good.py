import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P


def loss_fn(w, x):
    return jnp.mean((w - x) ** 2)


def of_mean(w, x):
    return jax.grad(lambda w: jax.lax.pmean(loss_fn(w, x), "i"))(w)


def unchecked(w, x):
    return jax.lax.pmean(jax.grad(loss_fn)(w, x), "i")


def main():
    mesh = Mesh(jax.devices(), ("i",))
    x = jnp.ones(16)
    specs = (P(), P("i"))
    one = jax.jit(jax.shard_map(of_mean, mesh=mesh, in_specs=specs, out_specs=P()))
    other = jax.jit(jax.shard_map(unchecked, mesh=mesh, in_specs=specs, out_specs=P(), check_vma=False))
    print(one(jnp.float32(0.0), x), other(jnp.float32(0.0), x))


if __name__ == "__main__":
    main()
