"""A mapped method is given its arguments with a star."""
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
given = [trainer.w, shard(BATCH)]  # careless: given = [trainer.w, BATCH]
trainer.w = trainer.step(*given)
trainer.w = trainer.step(trainer.w, *given[1:])
RESULT = trainer.w[0], np.asarray(given[0]).sum()  # careless: RESULT = trainer.w, np.asarray(given[0]).sum()
