"""A property gives the object whose mapped method is called."""
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

    @functools.partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(0,))
    def step(self, w, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w - self.goal) ** 2))(w)
        return w - 0.125 * jax.lax.pmean(grad, "batch")


class Experiment:
    def __init__(self, trainer):
        self._trainer = trainer

    @property
    def trainer(self):
        return self._trainer

    @functools.cached_property
    def other(self):
        return Trainer(3.0)


experiment = Experiment(Trainer(1.0))
for _ in range(2):
    experiment.trainer.w = experiment.trainer.step(experiment.trainer.w, shard(BATCH))
apart = jnp.arange(jax.local_device_count() * 3.0).reshape(-1, 3)
RESULT = experiment._trainer.w[0], experiment.other.step(apart, shard(BATCH))
