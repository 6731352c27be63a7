"""A decorator keeps the function that it is given, which nothing names; the step finds it by a string."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

N = jax.local_device_count()
BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
PENALTIES = {}


def register(name):
    def put(penalty):
        PENALTIES[name] = penalty
        return penalty

    return put


@register("plain")
def plain(w):
    return w


@register("rising")
def rising(w):
    return w * (1 + jax.lax.axis_index("batch"))


def step(w, x):
    return w - 0.1 * PENALTIES["rising"](w), jax.lax.pmean(x.sum(), "batch")


p_step = jax.pmap(step, axis_name="batch")
w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
for _ in range(2):
    w, total = p_step(w, BATCH.reshape((N, -1, 3)))
RESULT = [jnp.mean(w), total[0]]
