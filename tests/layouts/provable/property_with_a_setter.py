"""States are kept behind properties, one of which makes its state when it is read first."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def init(w):
    return jax.tree.map(jnp.zeros_like, w)


def step(w, momentum, x):
    grad = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w), "batch")
    momentum = 0.5 * momentum + grad
    return w - 0.125 * momentum, momentum


class Trainer:
    def __init__(self, w):
        self._w = jax_utils.replicate(w)
        self._momentum = None
        self.p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, replicated, split -> replicated, replicated

    @property
    def w(self):
        return self._w

    @w.setter
    def w(self, value):
        self._w = value

    @property
    def momentum(self):
        if self._momentum is None:
            self._momentum = jax.pmap(init, axis_name="batch")(self.w)  # expect: replicated -> replicated
        return self._momentum

    @momentum.setter
    def momentum(self, value):
        self._momentum = value

    def train(self, steps):
        for i in range(steps):
            self.w, self.momentum = self.p_step(self.w, self.momentum, shard(BATCH + i))
        return jax_utils.unreplicate((self.w, self.momentum))


RESULT = Trainer(jnp.linspace(0.1, 1.0, 3)).train(3)
