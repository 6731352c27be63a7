"""A method that nothing names tells devices apart; the object finds it by a name that it puts together."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

N = jax.local_device_count()
BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


class Penalty:
    def of_plain(self, w):
        return w

    def of_rising(self, w):
        return w * (1 + jax.lax.axis_index("batch"))

    def __init__(self, kind):
        self.kind = kind

    def apply(self, w):
        return getattr(self, f"of_{self.kind}")(w)


def step(w, x):
    return w - 0.1 * Penalty("rising").apply(w), jax.lax.pmean(x.sum(), "batch")


p_step = jax.pmap(step, axis_name="batch")
w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
for _ in range(2):
    w, total = p_step(w, BATCH.reshape((N, -1, 3)))
RESULT = [jnp.mean(w), total[0]]
