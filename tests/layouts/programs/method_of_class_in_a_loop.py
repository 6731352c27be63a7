"""Classes are taken from a table, of which one has the method mapped and one not."""
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
        self.w = jax_utils.replicate(jnp.ones(3))  # careless: self.w = jnp.ones(3)

    @functools.partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(0,))  # careless: @functools.partial(sharded, in_specs=(None, P(), P("batch")), out_specs=P(), static_argnums=(0,))
    def step(self, w, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w - self.goal) ** 2))(w)
        return w - 0.125 * jax.lax.pmean(grad, "batch")


class OnHost(Trainer):
    def step(self, w, x):
        return w + np.asarray(x).sum(axis=(0, 1)) / np.asarray(w).shape[0]


def run(kind):
    trainer = {"mapped": Trainer, "host": OnHost}[kind](1.0)
    for i in range(2):
        trainer.w = trainer.step(trainer.w, shard(BATCH + i))  # careless: trainer.w = trainer.step(trainer.w, BATCH + i)
    return np.asarray(trainer.w)[0]


RESULT = [run(kind) for kind in ("mapped", "host")]
