"""One of two bases keeps the state that the other one reads."""
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


class Training:
    def train(self):
        self.w = jax_utils.replicate(jnp.ones(3))
        self.w = p_step(self.w, shard(BATCH))


class Reporting:
    def report(self):
        return np.asarray(self.w).sum(), self.w[0]


class Trainer(Training, Reporting):
    pass


trainer = Trainer()
trainer.train()
RESULT = trainer.report()
