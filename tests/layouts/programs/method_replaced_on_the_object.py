"""An object is given a function of its own by the name of the mapped method."""
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

    def run(self):
        self.w = self.step(self.w, shard(BATCH))  # careless: self.w = self.step(self.w, BATCH)
        return self.w


one, other = Trainer(1.0), Trainer(2.0)
other.step = lambda w, x: w + np.asarray(w).sum()
RESULT = [one.run()[0], other.run()[0]]
