"""A function that returns a stacked value at the bottom and its first slice above."""
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

def descend(w, depth):
    if depth == 0:
        return w
    below = descend(p_step(w, shard(BATCH)), depth - 1)
    return below if below.ndim == 1 else below[0]


RESULT = [descend(jax_utils.replicate(jnp.ones(3)), 2), np.asarray(descend(jax_utils.replicate(jnp.ones(3)), 0)).sum()]
