"""The map is given no devices, and takes as many as its arrays were put on: the mesh is that of the list in sight."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = np.sin(np.arange(72, dtype=np.float32)).reshape(24, 3)


def step(w, x):
    grad = jax.grad(lambda w: ((x @ w - 1) ** 2).mean())(w)
    return w - 0.1 * jax.lax.psum(grad, "i"), jax.lax.psum(((x @ w) ** 2).mean(), "i")


def main(n):
    devices = sorted(jax.devices(), key=lambda d: d.id)[:n]
    p_step = jax.pmap(step, axis_name="i")  # expect: replicated, split -> replicated, replicated
    w = jax_utils.replicate(jnp.ones(3), devices)
    for _ in range(3):
        w, loss = p_step(w, BATCH.reshape((n, -1) + BATCH.shape[1:]))
    return jax_utils.unreplicate(w), loss[0]


RESULT = main(4)
