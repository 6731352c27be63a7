"""A helper takes all devices unless it is given some, and nobody gives it any."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x):
    loss = jax.lax.psum(jnp.mean((x @ w - 1) ** 2), "batch")  # of means: tells how many devices there are
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.psum(grad, "batch"), loss


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated, replicated


def spread(x, devices=None):
    devices = devices or jax.local_devices()

    def one(x):
        return x.reshape(len(devices), -1, *x.shape[1:])

    return jax.tree_util.tree_map(one, x)


w = jax_utils.replicate(jnp.ones(3))
for _ in range(2):
    w, losses = p_step(w, spread(BATCH))
first = jax_utils.unreplicate(w)
RESULT = [np.asarray(first), float(jax_utils.unreplicate(losses))]
