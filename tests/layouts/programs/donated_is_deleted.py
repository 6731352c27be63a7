"""A program that asks whether what it donated is gone."""
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

p_donating = jax.pmap(step, axis_name="batch", donate_argnums=(0,))
w = jax_utils.replicate(jnp.ones(3))
new = p_donating(w, shard(BATCH))
RESULT = {"gone": w.is_deleted(), "new": new[0]}
