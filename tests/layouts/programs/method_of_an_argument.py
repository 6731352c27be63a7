"""A function is given an object with a mapped method, and its state is whole elsewhere."""
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


def train(trainer, batches):
    for batch in batches:
        trainer.w = trainer.step(trainer.w, shard(batch))  # careless: trainer.w = trainer.step(trainer.w, batch)
    return trainer


def spread(trainers):
    return [float(np.asarray(trainer.w).sum()) for trainer in trainers]


first = train(Trainer(1.0), [BATCH, BATCH + 1])
second = train(Trainer(2.0), [BATCH])
RESULT = first.w[0], second.w[0], spread([first, second])  # careless: RESULT = first.w, second.w, spread([first, second])
