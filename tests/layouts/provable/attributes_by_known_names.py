"""Attributes that are read by names which a table of the class lists, as experiments with checkpoints have it."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
from jax import lax


class Experiment:
    SAVED = {}

    def snapshot(self):
        return {name: jax_utils.unreplicate(getattr(self, key)) for key, name in self.SAVED.items()}


class Training(Experiment):
    SAVED = {"_w": "w", "_momentum": "m"}

    def __init__(self):
        self._w = jax_utils.replicate(jnp.ones(3))
        self._momentum = jax_utils.replicate(jnp.zeros(3))
        self.p_step = jax.pmap(self.step, axis_name="batch")  # expect: replicated, replicated, split -> replicated, replicated

    def step(self, w, momentum, x):
        momentum = momentum * 0.5 + lax.pmean((x * w).mean(0), "batch")
        return w - 0.125 * momentum, momentum

    def train(self, x):
        self._w, self._momentum = self.p_step(self._w, self._momentum, shard(x))


training = Training()
for i in range(3):
    training.train(np.arange(48, dtype=np.float32).reshape(16, 3) + i)
RESULT = {key: np.asarray(value) for key, value in training.snapshot().items()}
