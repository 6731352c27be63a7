"""A base's constructor runs the method that the constructor of the class hides afterwards, in one way or another."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


class Base:
    def __init__(self, rate):
        self.rate = rate
        self.w = jax_utils.replicate(jnp.ones(3))
        self.warm_up()

    def warm_up(self):
        self.w = self.step(self.w, shard(BATCH))


class Trainer(Base):
    def __init__(self, rate):
        super().__init__(rate)
        self.step = jax.pmap(Trainer.reduced, axis_name="i")

    def step(self, w, x):
        return w - 0.125 * self.rate * x.mean(1) * w.sum()

    @staticmethod
    def reduced(w, x):
        return w - 0.125 * jax.lax.pmean((x @ w).sum(), "i")

    def run(self):
        self.w = self.step(self.w, shard(BATCH))
        return np.asarray(self.w).sum()


class Late(Base):
    def __init__(self, rate):
        super().__init__(rate)
        self.keep = functools.partial(self.step, self.w)
        self.step = jax.pmap(Trainer.reduced, axis_name="i")

    def step(self, w, x):
        return w + x.mean(1) * w.sum()

    def run(self):
        return np.asarray(self.keep(shard(BATCH))).sum() + np.asarray(self.step(self.w, shard(BATCH))).sum()


RESULT = [Trainer(0.5).run(), Late(0.25).run()]
