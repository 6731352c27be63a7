"""A mapped method reads a stacked array of its object, and takes the slice of its own device."""
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
        self.start = jax_utils.replicate(jnp.arange(3.0))  # careless: self.start = jnp.arange(3.0)

    @functools.partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(0,))  # careless: @functools.partial(sharded, in_specs=(None, P(), P("batch")), out_specs=P(), static_argnums=(0,))
    def step(self, w, x):
        own = self.start[jax.lax.axis_index("batch")]
        grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
        return w + own - 0.125 * jax.lax.pmean(grad, "batch")


trainer = Trainer()
trainer.start = trainer.step(trainer.start, shard(BATCH))  # careless: trainer.start = trainer.step(trainer.start, BATCH)
trainer.w = trainer.step(trainer.w, shard(BATCH))  # careless: trainer.w = trainer.step(trainer.w, BATCH)
RESULT = [trainer.w[0], trainer.start[0]]  # careless: RESULT = [trainer.w, trainer.start[0]]
