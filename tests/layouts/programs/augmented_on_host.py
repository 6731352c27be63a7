"""Arithmetic with stacked parameters on the host, in every way."""
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
w *= 2
w = w + jnp.arange(3.0)
w = jax.tree.map(lambda a: a / a.shape[0], w)
w = p_step(w, shard(BATCH))
w = jax.tree.map(lambda a: a - a.mean(), {"w": w})["w"]
RESULT = [w[0], np.asarray(w).sum()]
