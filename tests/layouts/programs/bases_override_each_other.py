"""A class in front of another one in the bases of a third overrides what the other calls on itself."""
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


class Base:
    def __init__(self):
        self.w = jax_utils.replicate(jnp.ones(3))

    def report(self, w):
        return w[0]

    def run(self):
        self.w = p_step(self.w, shard(BATCH))
        return self.report(self.w)


class Summing:
    def report(self, w):
        return np.asarray(w).sum()


class Derived(Summing, Base):
    pass


RESULT = [Base().run(), Derived().run()]
