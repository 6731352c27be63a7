"""Results of all devices are copied to a numpy array by slices."""
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

p_score = jax.pmap(lambda w, x: (x @ w, jax.lax.pmean(x.mean(), "i")), axis_name="i")
w = jax_utils.replicate(jnp.ones(3))
table = np.zeros((2, 8, 2), np.float32)
means = np.zeros((2, 8), np.float32)
for i in range(2):
    table[i], means[i] = p_score(w, shard(BATCH + i))
    table[i, :, 0] *= 2
RESULT = [table, means]
