"""Stacked arrays are put on the devices by a sharding that has a name, some after they were made."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

BATCH = np.sin(np.arange(72, dtype=np.float32)).reshape(24, 3)
MESH = Mesh(jax.devices(), ("batch",))
SHARDING = NamedSharding(MESH, P("batch"))


def step(w, x):
    grad = jax.grad(lambda w: ((x @ w - 1) ** 2).mean())(w)
    return w - 0.1 * jax.lax.psum(grad, "batch"), jax.lax.psum(((x @ w) ** 2).mean(), "batch")


def noisy(key, w):
    return w + jax.random.normal(key, w.shape)


def main():
    n = len(jax.devices())
    p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated, replicated
    p_noisy = jax.pmap(noisy)  # expect: stacked, replicated -> stacked
    w = jax.device_put(jnp.stack([jnp.ones(3)] * n), SHARDING)
    x = BATCH.reshape(n, -1, 3)
    x = jax.device_put(x, SHARDING)
    keys = jax.device_put(jax.random.split(jax.random.PRNGKey(0), n), SHARDING)
    noise = p_noisy(keys, w)
    for _ in range(3):
        w, loss = p_step(w, x)
    return w[0], loss[0], noise


RESULT = main()
