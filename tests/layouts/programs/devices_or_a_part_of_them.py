"""A helper that is given no devices takes the first half of them."""

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


def spread(x, devices=None):
    devices = devices or jax.local_devices()[: jax.local_device_count() // 2]

    def one(x):
        return x.reshape(len(devices), -1, *x.shape[1:])

    return jax.tree_util.tree_map(one, x)


w = jax_utils.replicate(jnp.ones(3), jax.local_devices()[: jax.local_device_count() // 2])
w, losses = p_step(w, spread(BATCH))  # careless: w, losses = p_step(jax_utils.replicate(jnp.ones(3)), spread(BATCH, jax.devices()))
RESULT = [np.asarray(w[0]), np.asarray(losses[0])]
