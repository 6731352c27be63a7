"""A name that once held the number of devices."""
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

n = jax.local_device_count()
w = jnp.stack([jnp.ones(3)] * n)
w = p_step(w, BATCH.reshape((n, -1, 3)))
n = 4
four = jnp.stack([jnp.ones(3)] * n)
four = p_step(four, BATCH.reshape((n, -1, 3)))
RESULT = {"eight": w[0], "four": four[0], "rows": len(four)}
