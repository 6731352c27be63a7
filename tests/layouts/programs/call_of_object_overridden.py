"""A subclass overrides what calling its objects does, which a method of the base does."""
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


class Reporter:
    def __call__(self, w):
        return w[0]

    def run(self):
        return self(p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH)))


class Summing(Reporter):
    def __call__(self, w):
        return np.asarray(w).sum()


RESULT = [Reporter().run(), Summing().run()]
