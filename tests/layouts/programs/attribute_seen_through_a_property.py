"""A property gives what an attribute holds before the line that replicates it."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = shard(np.arange(48, dtype=np.float32).reshape(16, 3) / 7)


class Trainer:
    def __init__(self, w):
        self.w = w
        self.start = self.head + 1
        self.w = jax_utils.replicate(self.w)

    @property
    def head(self):
        return jax.tree.map(lambda x: x[0], self.w)

    def first(self):
        return jax.tree.map(lambda x: x[0], self.w)


p_step = jax.pmap(lambda w, x: w - 0.1 * jax.lax.pmean(x.mean(0), "batch"), axis_name="batch")
trainer = Trainer(jnp.linspace(0.1, 1.0, 3))
trainer.w = p_step(trainer.w, BATCH)
RESULT = [trainer.start, trainer.first()]
