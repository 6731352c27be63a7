"""Ways that nobody takes: a flag that is never given, and what is always None."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated


def widened(w):
    return w * (1 + jnp.arange(8.0))[:, None]  # each device has its own from now on


def spread(x, devices=None, put=True, shift=None):
    devices = devices or jax.local_devices()

    def one(x):
        x = x.reshape(len(devices), -1, *x.shape[1:])
        if put:
            x = jnp.asarray(x)
        if not put:
            x = list(x)
        if shift is not None:
            x = widened(x)
        return x

    return jax.tree_util.tree_map(one, x)


w = jax_utils.replicate(jnp.ones(3))
for _ in range(2):
    w = p_step(w, spread(BATCH))
RESULT = np.asarray(jax_utils.unreplicate(w))
