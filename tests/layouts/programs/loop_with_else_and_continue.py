"""Values left by continue, break and else."""
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

w = jax_utils.replicate(jnp.ones(3))
kept = None
for i in range(4):
    if i == 1:
        kept = w
        continue
    w = p_step(w, shard(BATCH))
    if i == 2:
        w = w[0]
        break
else:
    w = None
RESULT = [w, np.asarray(kept).sum()]
