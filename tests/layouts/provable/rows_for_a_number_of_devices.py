"""Arrays have as many rows as a number that a program chooses, and no map is given devices: pmap takes the first ones."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = np.sin(np.arange(72, dtype=np.float32)).reshape(24, 3)


def step(w, x):
    grad = jax.grad(lambda w: ((x @ w - 1) ** 2).mean())(w)
    loss = jax.lax.psum(((x @ w) ** 2).mean(), "i")  # of means: tells how many devices there are
    return w - 0.1 * jax.lax.psum(grad, "i"), loss


def noisy(w, key):
    return w + jax.lax.pmean(jax.random.normal(key, w.shape), "i")


def shard(batch, n):
    return batch.reshape((n, batch.shape[0] // n) + batch.shape[1:])


def main(num_devices):
    p_step = jax.pmap(step, "i", donate_argnums=0)  # expect: replicated, split -> replicated, replicated
    p_noisy = jax.pmap(noisy, axis_name="i")  # expect: replicated, stacked -> replicated
    start = jnp.ones(3)
    w = jax.tree_util.tree_map(lambda x: jnp.stack([x] * num_devices), start)
    w = p_noisy(w, jax.random.split(jax.random.PRNGKey(0), num_devices))
    for _ in range(3):
        w, loss = p_step(w, shard(BATCH, num_devices))
    return start, w[0], jax_utils.unreplicate(loss), loss.shape[0]


RESULT = main(6)
