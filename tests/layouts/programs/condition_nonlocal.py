"""A condition that an inner function changes."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")


def widened(w):
    return w * (1 + jnp.arange(8.0))[:, None]  # each device has its own from now on


def run():
    own = False

    def change():
        nonlocal own
        own = True

    w = jax_utils.replicate(jnp.ones(3))
    for _ in range(2):
        w = p_step(w, shard(BATCH))
        if own:  # careless: if False:
            w = widened(w)
        change()
    return np.asarray(w)


RESULT = run()
