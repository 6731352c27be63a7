"""What comes between an attribute and its replicated value raises, which the caller handles."""

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


class Trainer:
    def start(self, w, steps):
        self.w = w
        self.steps = int(steps)
        self.w = jax_utils.replicate(self.w)

    def first(self):
        return first(self.w)


p_step = jax.pmap(step, axis_name="batch")
trainer = Trainer()
trainer.start(jnp.linspace(0.1, 1.0, 3), "1")
trainer.w = p_step(trainer.w, shard(BATCH))
RESULT = [trainer.first()]
try:
    trainer.start(jnp.linspace(0.1, 1.0, 3), "x")
except ValueError:
    RESULT.append(trainer.first())
