"""Lists edited in place: slices assigned, reversed, removed, sorted, inserted."""
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

a = jax_utils.replicate(jnp.ones(3))
b = p_step(a, shard(BATCH))
states = [a]
states[0:0] = [b]
states.insert(1, b)
states.reverse()
alias = states
alias.sort(key=lambda w: float(np.asarray(w).sum()))
del states[0]
RESULT = [[np.asarray(w).sum() for w in alias], alias[0][0], [len(w) for w in states]]
