"""A function of a library calls back with what it was given."""
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

import concurrent.futures


def total(w):
    return np.asarray(w).sum()


w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
with concurrent.futures.ThreadPoolExecutor(1) as pool:
    RESULT = [pool.submit(total, w).result(), list(pool.map(total, [w, w]))[1], w[0]]
