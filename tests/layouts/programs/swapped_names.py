"""Two names swapped in a loop: one holds the stacked, the other the single one."""
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

single = jnp.ones(3)
stacked = p_step(jax_utils.replicate(single), shard(BATCH))
for _ in range(3):
    single, stacked = stacked, single
RESULT = [np.asarray(single).sum(), np.asarray(stacked).sum(), single[0], stacked[0]]
