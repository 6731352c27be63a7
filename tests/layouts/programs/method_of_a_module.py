"""The class of a mapped method has a base that is not in sight, which calls it."""
import functools
from unittest import TestCase

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


class Trainer(TestCase):
    def setUp(self):
        self.goal = 1.0
        self.w = jax_utils.replicate(jnp.ones(3))

    @functools.partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(0,))
    def step(self, w, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w - self.goal) ** 2))(w)
        return w - 0.125 * jax.lax.pmean(grad, "batch")

    def runTest(self):
        self.w = self.step(self.w, shard(BATCH))


trainer = Trainer()
trainer()
w = trainer.step(trainer.w, shard(BATCH))
RESULT = w[0], np.asarray(trainer.w).sum()
