"""A function that knows the object looks at an attribute before the line that replicates it."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = shard(np.arange(48, dtype=np.float32).reshape(16, 3) / 7)
MADE = []


def first_of_the_latest():
    return jax.tree.map(lambda x: x[0], MADE[-1].w)


class Trainer:
    def __init__(self, w):
        MADE.append(self)
        self.w = w
        self.start = first_of_the_latest()
        self.w = jax_utils.replicate(self.w)

    def first(self):
        return jax.tree.map(lambda x: x[0], self.w)


p_step = jax.pmap(lambda w, x: w - 0.1 * jax.lax.pmean(x.mean(0), "batch"), axis_name="batch")
trainer = Trainer(jnp.linspace(0.1, 1.0, 3))
trainer.w = p_step(trainer.w, BATCH)
RESULT = [trainer.start, trainer.first()]
