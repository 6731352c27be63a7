"""A mapped method of an object is kept in a table and handed to a function of Python."""
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


trainer = Trainer(1.0)
table = {"step": trainer.step}
w = functools.reduce(table["step"], [shard(BATCH), shard(BATCH + 1)], jax_utils.replicate(jnp.ones(3)))  # careless: w = functools.reduce(table["step"], [BATCH, BATCH + 1], jnp.ones(3))
trainer.w = trainer.step(trainer.w, shard(BATCH))  # careless: trainer.w = trainer.step(trainer.w, BATCH)
RESULT = [w[0], np.asarray(w).sum(), trainer.w[0]]  # careless: RESULT = [w[0], np.asarray(w).sum(), trainer.w]
