"""A mapped method is called with and without its last argument."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


class Trainer:
    def __init__(self, goal):
        self.goal = goal
        self.w = jax_utils.replicate(jnp.ones(3))

    @functools.partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(0,))
    def step(self, w, x, rate=0.125):
        grad = jax.grad(lambda w: jnp.mean((x @ w - self.goal) ** 2))(w)
        return w - rate * jax.lax.pmean(grad, "batch")


trainer = Trainer(1.0)
trainer.w = trainer.step(trainer.w, shard(BATCH))
trainer.w = trainer.step(trainer.w, shard(BATCH), jax_utils.replicate(0.5))
RESULT = trainer.w[0], np.asarray(trainer.w).sum()
