"""A context manager that swallows an exception leaves its block half-way."""
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

import contextlib

w = jnp.ones(3)
with contextlib.suppress(ValueError):
    w = jax_utils.replicate(w)
    w = p_step(w, shard(BATCH))
    int("x")
    w = w[0]
RESULT = [np.asarray(w).sum(), w.shape]
