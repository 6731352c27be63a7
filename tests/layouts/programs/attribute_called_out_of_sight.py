"""A function stored on an attribute tells devices apart; another method of the object, out of sight, calls it."""

import string
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

N = jax.local_device_count()
BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
part = SimpleNamespace(tool=string.Formatter())
part.tool.get_value = lambda key, args, kwargs: args[key] * (1 + jax.lax.axis_index("batch"))


def step(w, x):
    scaled, _ = part.tool.get_field("0", (w,), {})
    return w - 0.1 * scaled, jax.lax.pmean(x.sum(), "batch")


p_step = jax.pmap(step, axis_name="batch")
w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
for _ in range(2):
    w, total = p_step(w, BATCH.reshape((N, -1, 3)))
RESULT = [jnp.mean(w), total[0]]
