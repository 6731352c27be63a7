"""An object keeps how many devices it uses; one that asks for more than there are raises, as pmap does."""

import jax
import jax.numpy as jnp
import numpy as np

BATCH = np.sin(np.arange(72, dtype=np.float32)).reshape(24, 3)


def step(w, x):
    grad = jax.grad(lambda w: ((x @ w - 1) ** 2).mean())(w)
    return w - 0.1 * jax.lax.psum(grad, "i"), jax.lax.psum(((x @ w) ** 2).mean(), "i")


class Trainer:
    def __init__(self, count):
        self.num_devices = count or jax.device_count() // 2
        self.p_step = jax.pmap(step, axis_name="i")  # expect: replicated, split -> replicated, replicated

    def fit(self):
        w = jnp.tile(jnp.ones(3)[None], (self.num_devices, 1))
        for _ in range(3):
            w, loss = self.p_step(w, BATCH.reshape(self.num_devices, -1, 3))
        return w[0], loss[0]


def attempt(count):
    try:
        return Trainer(count).fit()
    except ValueError:
        return "raised"


RESULT = attempt(12)
