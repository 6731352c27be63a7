"""What an object is for the cache of a mapped method depends on its stacked state."""
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

    def __hash__(self):
        return hash(self.w.shape)

    def __eq__(self, other):
        return self.w.shape == other.w.shape and self.w.size > 8

    @functools.partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(0,))  # careless: @functools.partial(sharded, in_specs=(None, P(), P("batch")), out_specs=P(), static_argnums=(0,))
    def step(self, w, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w - self.goal) ** 2))(w)
        return w - 0.125 * jax.lax.pmean(grad, "batch")


one, other = Trainer(1.0), Trainer(2.0)
one.w = one.step(one.w, shard(BATCH))  # careless: one.w = one.step(one.w, BATCH)
other.w = other.step(other.w, shard(BATCH))  # careless: other.w = other.step(other.w, BATCH)
RESULT = [one.w[0], other.w[0]]  # careless: RESULT = [one.w, other.w]
