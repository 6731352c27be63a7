"""Statements on one line, with semicolons, after a colon, in a conditional expression."""
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

w = jnp.ones(3); w = jax_utils.replicate(w); w = p_step(w, shard(BATCH))
if len(BATCH) > 3: w = p_step(w, shard(BATCH + 1)); first = w[0]
for i in range(2): w = p_step(w, shard(BATCH + i))
v = jax_utils.replicate(jnp.zeros(3)) if len(BATCH) else None
v = p_step(v, shard(BATCH)) if v is not None else v
RESULT = [w[0], first, v[0]]
