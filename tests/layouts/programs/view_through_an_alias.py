"""The buffer is written through a slice with another name."""
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

buffer = np.ones_like(BATCH)
half = buffer[:8]
batch = shard(buffer)
w = jax_utils.replicate(jnp.ones(3))
for i in range(2):
    half[:] = i
    w = p_step(w, batch)
    jax.block_until_ready(w)
RESULT = w[0]
