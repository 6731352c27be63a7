"""A property of another object looks at an attribute before the line that replicates it."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def first(tree):
    return jax.tree.map(lambda x: x[0], tree)


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


MADE = []


class Watch:
    @property
    def latest(self):
        return first(MADE[-1].w)


WATCH = Watch()


class Trainer:
    def __init__(self, w):
        MADE.append(self)
        self.w = w
        self.start = WATCH.latest
        self.w = jax_utils.replicate(self.w)

    def first(self):
        return first(self.w)


p_step = jax.pmap(step, axis_name="batch")
trainer = Trainer(jnp.linspace(0.1, 1.0, 3))
trainer.w = p_step(trainer.w, shard(BATCH))
RESULT = [trainer.start, trainer.first(), WATCH.latest]
