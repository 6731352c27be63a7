"""A dictionary whose key is 0: `states[0]` is a state, not a slice."""
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

states = {0: jax_utils.replicate(jnp.ones(3)), 1: jax_utils.replicate(jnp.zeros(3))}
for seed in states:
    states[seed] = p_step(states[seed], shard(BATCH + seed))
RESULT = [np.asarray(states[0]).sum(), states[1].shape, states[0][0]]
