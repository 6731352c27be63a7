"""A loop that tries again after a failure in the middle."""
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

w = jnp.ones(3)
failures = 0
while True:
    try:
        stacked = jax_utils.replicate(w) if w.ndim == 1 else w
        w = p_step(stacked, shard(BATCH))
        if failures < 2:
            raise OSError
        w = w[0]
        break
    except OSError:
        failures += 1
        continue
RESULT = [w, failures, stacked.shape]
