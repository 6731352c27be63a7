"""A mapped method takes an array that one device holds as it is."""
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
        self.w = jax_utils.replicate(jnp.ones(3))

    @functools.partial(jax.pmap, axis_name="batch", in_axes=(None, 0, 0, None), static_broadcasted_argnums=0)
    def step(self, w, x, scale):
        grad = jax.grad(lambda w: jnp.mean((x @ w - self.goal) ** 2))(w)
        return w - 0.125 * jnp.mean(scale) * jax.lax.pmean(grad, "batch")


trainer = Trainer(1.0)
scale = jax.device_put(jnp.arange(3.0), jax.devices()[0])
for i in range(3):
    trainer.w = trainer.step(trainer.w, shard(BATCH + i), scale)
RESULT = trainer.w[0]
