"""A condition that the program sets by `setattr` on its own module."""

import sys

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

OWN = None


def run():
    w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
    if OWN is not None:  # careless: if False:
        w = widened(w)
    return np.asarray(w)


setattr(sys.modules[run.__module__], "OWN", 1)
RESULT = run()
