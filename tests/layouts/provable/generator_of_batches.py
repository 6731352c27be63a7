"""Batches reshaped by a generator."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def batches(steps):
    n = jax.local_device_count()
    for i in range(steps):
        x = np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)
        yield x.reshape((n, -1) + x.shape[1:])


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated
w = jax_utils.replicate(jnp.zeros(3))
for x in batches(3):
    w = p_step(w, x)
RESULT = jax_utils.unreplicate(w)
