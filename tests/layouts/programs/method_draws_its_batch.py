"""A mapped method of a sampler draws from one key for each device what that of a model takes."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


class Sampler:
    def __init__(self, size):
        self.size = size
        self.key = jax.random.PRNGKey(0)

    def draw(self):
        self.key, key = jax.random.split(self.key)
        return self.sample(jax.random.split(key, jax.local_device_count()))

    @functools.partial(jax.pmap, static_broadcasted_argnums=(0,))
    def sample(self, key):
        return jax.random.uniform(key, (self.size, 3))


class Trainer:
    def __init__(self, goal):
        self.goal = goal
        self.w = jax_utils.replicate(jnp.ones(3))

    @functools.partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(0,))
    def step(self, w, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w - self.goal) ** 2))(w)
        return w - 0.125 * jax.lax.pmean(grad, "batch")


sampler, trainer = Sampler(4), Trainer(1.0)
for _ in range(3):
    batch = sampler.draw()
    trainer.w = trainer.step(trainer.w, batch)
RESULT = trainer.w[0], np.asarray(batch)
