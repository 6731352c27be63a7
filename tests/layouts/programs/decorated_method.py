"""A decorator of the project's own looks at what a method returns."""
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

LOG = []


def logged(method):
    @functools.wraps(method)
    def call(self, *args):
        out = method(self, *args)
        LOG.append(float(np.sum(out)))
        return out

    return call


class Trainer:
    def __init__(self):
        self.w = jax_utils.replicate(jnp.ones(3))

    @logged
    def train(self, x):
        self.w = p_step(self.w, shard(x))
        return self.w


trainer = Trainer()
first = trainer.train(BATCH)[0]
RESULT = {"log": LOG, "first": first}
