"""A learner keeps the devices that it is given, or all: its arrays lie on those, whatever their number is called."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = np.sin(np.arange(72, dtype=np.float32)).reshape(24, 3)


def step(w, x):
    grad = jax.grad(lambda w: ((x @ w - 1) ** 2).mean())(w)
    return w - 0.1 * jax.lax.psum(grad, "i"), jax.lax.psum(((x @ w) ** 2).mean(), "i")


class Learner:
    def __init__(self, devices=None):
        self._devices = devices or jax.local_devices()
        self._local = [d for d in self._devices if d in jax.local_devices()]
        self._step = jax.pmap(step, "i", devices=self._devices)  # expect: replicated, split -> replicated, replicated
        self._w = jax_utils.replicate(jnp.ones(3), self._local)

    def learn(self, batch):
        x = jax.tree_util.tree_map(lambda x: x.reshape((len(self._devices), -1) + x.shape[1:]), batch)
        self._w, loss = self._step(self._w, x)
        return loss[0]

    def params(self):
        return jax_utils.unreplicate(self._w)


def main(first, last):
    learner = Learner(jax.devices()[int(first) : int(last)])
    losses = [learner.learn(BATCH) for _ in range(3)]
    return losses, learner.params()


RESULT = main("2", "6")
