"""A function that keeps its result lists the devices, wherever it is asked; an experiment keeps such a list."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = np.sin(np.arange(72, dtype=np.float32)).reshape(24, 3)


def step(w, x):
    grad = jax.grad(lambda w: ((x @ w - 1) ** 2).mean())(w)
    return w - 0.1 * jax.lax.psum(grad, "i"), jax.lax.psum(((x @ w) ** 2).mean(), "i")


@functools.lru_cache
def get_devices():
    return tuple(jax.devices()[1:5])


class Experiment:
    def __init__(self):
        self.devices = list(get_devices())
        self.num_devices = len(self.devices)
        self.p_step = jax.pmap(step, "i", devices=self.devices)  # expect: replicated, split -> replicated, replicated

    def shard(self, x):
        return x.reshape((self.num_devices, x.shape[0] // self.num_devices) + x.shape[1:])

    def run(self):
        w = jax_utils.replicate(jnp.ones(3), get_devices())
        for _ in range(3):
            w, loss = self.p_step(w, self.shard(BATCH))
        return jax.device_get(w[0]), float(loss[0]), w.shape[0]


RESULT = Experiment().run()
