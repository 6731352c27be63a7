"""Negation, steps, Ellipsis and None on stacked arrays."""
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

w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
RESULT = [(-w).shape, w[::-1][0], w[...].shape, w[()].shape, w[None].shape, (~(w > 0)).sum(), abs(w).sum(), w[-8], w[:][0]]
