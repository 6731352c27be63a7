"""A method of a base out of sight calls one that the class has of its own, which tells devices apart."""

import string

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

N = jax.local_device_count()
BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


class Scaled(string.Formatter):
    def get_value(self, key, args, kwargs):
        return args[key] * (1 + jax.lax.axis_index("batch"))


scaled = Scaled()


def step(w, x):
    field, _ = scaled.get_field("0", (w,), {})
    return w - 0.1 * field, jax.lax.pmean(x.sum(), "batch")


p_step = jax.pmap(step, axis_name="batch")
w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
for _ in range(2):
    w, total = p_step(w, BATCH.reshape((N, -1, 3)))
RESULT = [jnp.mean(w), total[0]]
