"""Donation is of positions: what is given by keyword stays, and is read again."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x, m):
    grad = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w), "batch")
    return w - 0.125 * grad, m + grad


p_step = jax.pmap(step, axis_name="batch", donate_argnums=(0, 1, 2))

w, m = jax_utils.replicate(jnp.ones(3)), jax_utils.replicate(jnp.zeros(3))
w, n = p_step(w, shard(BATCH), m=m)
w, k = p_step(w, shard(BATCH), m=m)
RESULT = [jax_utils.unreplicate(w), jax_utils.unreplicate(n), jax_utils.unreplicate(k), jax_utils.unreplicate(m)]
