"""All maps are given the same few devices, to whose list and numbers something else is done under other names."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

NUMBERS = [6, 2, 4]
EVERY = jax.devices()
SOME = [EVERY[i] for i in NUMBERS + [1]]
BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def chosen():
    devices = jax.devices()[:4]
    other = devices
    other.append(jax.devices()[7])
    del other[:3]
    return devices


def train(devices):
    p_step = jax.pmap(lambda w, x: w - jax.lax.psum(x.mean(0), "i"), axis_name="i", devices=devices)
    w = jax_utils.replicate(jnp.ones(3), devices)
    return p_step(w, BATCH.reshape((len(devices), -1, 3)))


RESULT = [train(chosen())]
