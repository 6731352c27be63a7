"""A condition that is True for one caller, and negated."""

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


def run(equal):
    w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
    if not equal:  # careless: if False:
        w = widened(w)
    return np.asarray(w)


RESULT = [run(True), run(equal=False)]
