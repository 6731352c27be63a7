"""A function that returns the whole or the first slice, as it is asked."""
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

def get(w, whole=False):
    if whole:
        return w
    return w[0]


w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
RESULT = [get(w), np.asarray(get(w, whole=True)).sum()]
