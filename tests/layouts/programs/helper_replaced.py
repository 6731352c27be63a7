"""A helper that is replaced by another function before it is called."""
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

class utils:
    @staticmethod
    def first(x):
        return x[0]


def first(x):
    return x[0]


first = lambda x: np.asarray(x).sum()
utils.first = staticmethod(lambda x: np.asarray(x).max(0))
w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
RESULT = [first(w), utils.first(w)]
