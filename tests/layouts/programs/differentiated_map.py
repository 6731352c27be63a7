"""The gradient of a sum over the map's outputs, with respect to stacked parameters."""
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

p_loss = jax.pmap(lambda w, x: jnp.mean((x @ w - 1) ** 2))
w = jax_utils.replicate(jnp.ones(3))
batch = shard(BATCH)
grad = jax.grad(lambda w: p_loss(w, batch).sum())(w)
RESULT = {"shape": grad.shape, "mean": np.asarray(grad).sum(0)}
