"""A mapped method looks through all that its object holds."""
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

    @functools.partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(0,))  # careless: @functools.partial(sharded, in_specs=(None, P(), P("batch")), out_specs=P(), static_argnums=(0,))
    def step(self, w, x):
        size = sum(leaf.size for leaf in jax.tree.leaves(vars(self)))
        grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
        return w - size * jax.lax.pmean(grad, "batch") / 64


trainer = Trainer()
for i in range(2):
    trainer.w = trainer.step(trainer.w, shard(BATCH + i))  # careless: trainer.w = trainer.step(trainer.w, BATCH + i)
RESULT = trainer.w[0]  # careless: RESULT = trainer.w
