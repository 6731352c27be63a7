"""What is called property is the own class of the program, whose setter keeps the sum of all slices."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")


class property:
    def __init__(self, read):
        self.read = read

    def setter(self, write):
        self.write = write
        return self

    def __get__(self, owner, cls=None):
        return self.read(owner)

    def __set__(self, owner, value):
        self.write(owner, value)
        owner.total = float(np.sum(value))


class Trainer:
    def __init__(self):
        self._w = None

    @property
    def w(self):
        return self._w

    @w.setter
    def w(self, value):
        self._w = value


trainer = Trainer()
trainer.w = jax_utils.replicate(jnp.ones(3))
trainer.w = p_step(trainer.w, shard(BATCH))
RESULT = [trainer.total, np.asarray(trainer.w[0])]
