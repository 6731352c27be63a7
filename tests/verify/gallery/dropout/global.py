"""Training with dropout and noise: the keys are the only array with a row for each device."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

N = jax.device_count()
mesh = Mesh(np.array(jax.devices()), ("i",))


@jax.jit
@functools.partial(
    jax.shard_map,
    mesh=mesh,
    in_specs=(P(), P("i"), P("i"), P()),
    out_specs=(P(), P("i")),
    check_vma=False,
)
def train_step(params, keys, x, step):
    key = jax.random.fold_in(keys[0], step)
    noise, drop = jax.random.split(key)

    def loss_fn(params):
        hidden = jnp.tanh((x + 0.1 * jax.random.normal(noise, x.shape)) @ params["w"])
        hidden = jnp.where(jax.random.bernoulli(drop, 0.8, hidden.shape), hidden / 0.8, 0.0)
        return ((hidden @ params["v"]) ** 2).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    grads = jax.lax.pmean(grads, "i")
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss[None]


def main():
    rng = np.random.RandomState(0)
    params = {"w": rng.randn(5, 8).astype("f"), "v": rng.randn(8, 3).astype("f")}
    keys = jax.random.split(jax.random.PRNGKey(0), N)
    for step in range(4):
        params, loss = train_step(params, keys, rng.randn(N * 4, 5).astype("f"), step)
        print(f"loss {float(loss.mean()):.5f} of the first {float(loss[0]):.5f}")


main()
