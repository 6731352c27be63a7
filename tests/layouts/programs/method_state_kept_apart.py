"""A mapped method of which one output differs between devices."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


class Trainer:
    def __init__(self):
        self.w = jax_utils.replicate(jnp.ones(3))  # careless: self.w = jnp.ones(3)
        self.momentum = jax_utils.replicate(jnp.zeros(3))  # careless: self.momentum = jnp.zeros(3)

    @functools.partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(0,))  # careless: @functools.partial(sharded, in_specs=(None, P(), P("batch")), out_specs=P(), static_argnums=(0,))
    def step(self, w, momentum, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
        momentum = 0.5 * momentum + grad
        return self.moved(w, momentum), momentum

    def moved(self, w, momentum):
        return w - 0.125 * jax.lax.pmean(momentum, "batch")


class Apart(Trainer):
    def moved(self, w, momentum):
        return w - 0.125 * momentum


def run(trainer):
    for i in range(3):
        trainer.w, trainer.momentum = trainer.step(trainer.w, trainer.momentum, shard(BATCH + i))  # careless: trainer.w, trainer.momentum = trainer.step(trainer.w, trainer.momentum, BATCH + i)
    return np.asarray(trainer.w), np.asarray(trainer.momentum)


RESULT = [run(Trainer()), run(Apart())]
