"""A subclass overrides a mapped method by one that looks at the whole state before it calls the mapped one."""
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
        return self.w[0]  # careless: return self.w


class Logging(Trainer):
    def __init__(self, goal):
        super().__init__(goal)
        self.log = []

    def step(self, w, x):
        self.log.append(float(np.asarray(w).sum()))
        return super().step(w, x)


logging = Logging(2.0)
RESULT = [Trainer(1.0).run(), logging.run(), logging.log]
