"""All maps are given the same few devices, by one name or another: arrays are global over these."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

LAST = jax.devices()[4:]
BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x):
    grad = jax.grad(lambda w: ((x @ w) ** 2).mean())(w)
    return w - 0.1 * jax.lax.pmean(grad, "i"), x * jax.lax.axis_index("i")


def noisy(w, key):
    return w + jax.lax.pmean(jax.random.normal(key, w.shape), "i")


def train(devices):
    n = len(devices)
    p_step = jax.pmap(step, axis_name="i", devices=devices)  # expect: replicated, split -> replicated, split
    w = jax_utils.replicate(jnp.ones(3), devices)
    w, scaled = p_step(w, BATCH.reshape((n, -1) + BATCH.shape[1:]))
    return w, scaled.reshape((-1,) + scaled.shape[2:]), scaled.shape[0], len(w)


p_noisy = jax.pmap(noisy, axis_name="i", devices=jax.devices()[4:])  # expect: replicated, stacked -> replicated
w, *RESULT = train(LAST)
w = p_noisy(w, jax.random.split(jax.random.PRNGKey(0), len(LAST)))
RESULT += [jax_utils.unreplicate(w), w[0]]
