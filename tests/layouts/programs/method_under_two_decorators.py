"""A mapped method stands under a decorator that looks at what it returns."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


LOG = []


def logged(mapped):
    def call(self, *args):
        out = mapped(self, *args)
        LOG.append(float(np.asarray(out).sum()))
        return out

    return call


class Trainer:
    def __init__(self, goal):
        self.goal = goal
        self.w = jax_utils.replicate(jnp.ones(3))  # careless: self.w = jnp.ones(3)

    @logged
    @functools.partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(0,))  # careless: @functools.partial(sharded, in_specs=(None, P(), P("batch")), out_specs=P(), static_argnums=(0,))
    def step(self, w, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w - self.goal) ** 2))(w)
        return w - 0.125 * jax.lax.pmean(grad, "batch")


trainer = Trainer(1.0)
for i in range(2):
    trainer.w = trainer.step(trainer.w, shard(BATCH + i))  # careless: trainer.w = trainer.step(trainer.w, BATCH + i)
RESULT = trainer.w[0], LOG  # careless: RESULT = trainer.w, LOG
