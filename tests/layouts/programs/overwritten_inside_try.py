"""A value that a handler sees between two statements of a block inside the try."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")

w = jax_utils.replicate(jnp.ones(3))
try:
    if len(BATCH) > 3:
        w = p_step(w, shard(BATCH))
        int("x")
        w = 0.0
except ValueError:
    RESULT = np.asarray(w).sum()
