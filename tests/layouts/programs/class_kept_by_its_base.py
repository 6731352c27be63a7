"""A base keeps the classes that derive from it, which nothing names; the step makes an object of one by a string."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

N = jax.local_device_count()
BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
PENALTIES = {}


class Penalty:
    def __init_subclass__(cls):
        PENALTIES[cls.__name__] = cls


class Rising(Penalty):
    def __init__(self, w):
        self.value = w * (1 + jax.lax.axis_index("batch"))


def step(w, x):
    return w - 0.1 * PENALTIES["Rising"](w).value, jax.lax.pmean(x.sum(), "batch")


p_step = jax.pmap(step, axis_name="batch")
w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
for _ in range(2):
    w, total = p_step(w, BATCH.reshape((N, -1, 3)))
RESULT = [jnp.mean(w), total[0]]
