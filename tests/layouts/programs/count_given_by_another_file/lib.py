"""Runs a step on as many devices as it is told."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x):
    loss = jax.lax.psum(jnp.mean((x @ w - 1) ** 2), "batch")  # of means: tells how many devices there are
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.psum(grad, "batch"), loss


p_step = jax.pmap(step, axis_name="batch")


def run(count):
    w = jax_utils.replicate(jnp.ones(3), jax.local_devices()[:count])
    w, losses = p_step(w, BATCH.reshape(count, -1, 3))
    return np.asarray(w[0]), np.asarray(losses[0])


def usual():
    return run(jax.local_device_count())
