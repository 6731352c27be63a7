"""An object that is reached through a weak reference and a method of it kept aside."""
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

import weakref


class Trainer:
    def __init__(self):
        self.w = jax_utils.replicate(jnp.ones(3))

    def train(self):
        self.w = p_step(self.w, shard(BATCH))


trainer = Trainer()
train, seen = trainer.train, weakref.proxy(trainer)
train()
RESULT = [np.asarray(seen.w).sum(), weakref.ref(trainer)().w.shape, trainer.w[0]]
