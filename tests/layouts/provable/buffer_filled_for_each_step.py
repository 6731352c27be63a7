"""A buffer is filled for each step, and the view of it is given to the step by the next statement or where it is made."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated
buffer = np.zeros((16, 3), np.float32)


def train(w, steps):
    for i in range(steps):
        buffer[:] = BATCH * (i + 1)
        batch = shard(buffer)
        w = p_step(w, batch)
        jax.block_until_ready(w)
        buffer[:] = 2 * buffer
        w = jax.block_until_ready(p_step(w, shard(buffer)))
    batch = BATCH
    return w[0], batch.sum()


RESULT = train(jax_utils.replicate(jnp.ones(3)), 3)
