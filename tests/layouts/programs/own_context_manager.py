"""The same with a context manager of the program."""
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

class Guard:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


def train():
    w = jnp.ones(3)
    with Guard():
        w = jax_utils.replicate(w)
        w = p_step(w, shard(BATCH))
        raise KeyError
        w = w[0]
    return np.asarray(w).sum(), w.shape


RESULT = train()
