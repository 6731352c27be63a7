"""Axes are named by an enumeration and by a variable of a class."""
import enum
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


class Axis(enum.Enum):
    BATCH = "batch"


class Config:
    axis: ClassVar[str] = "batch"


def step(w, x):
    grads = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grads, Axis.BATCH.value)


p_step = jax.pmap(step, axis_name=Axis.BATCH.value)  # expect: replicated, split -> replicated
p_mean = jax.pmap(lambda x: jax.lax.pmean(x.mean(), Config.axis), axis_name=Config.axis)  # expect: split -> replicated
w = jax_utils.replicate(jnp.ones(3))
means = []
for i in range(2):
    x = np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)
    means.append(float(p_mean(x.reshape(jax.local_device_count(), -1, 3))[0]))
    w = p_step(w, x.reshape(jax.local_device_count(), -1, 3))
RESULT = {"means": means, "w": jax_utils.unreplicate(w)}
