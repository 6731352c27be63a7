"""A class that is found in a table, where a decorator put it."""
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

TABLE = {}


def register(name):
    def wrap(cls):
        TABLE[name] = cls
        return cls

    return wrap


@register("trainer")
class Trainer:
    def __init__(self):
        self.w = jax_utils.replicate(jnp.ones(3))

    def run(self):
        self.w = p_step(self.w, shard(BATCH))
        return self


RESULT = np.asarray(TABLE["train" + "er"]().run().w).sum()
