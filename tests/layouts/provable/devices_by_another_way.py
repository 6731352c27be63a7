"""All devices, listed in other ways than by one call."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = np.sin(np.arange(96, dtype=np.float32)).reshape(32, 3)


def step(w, x):
    loss = jax.lax.psum(jnp.mean((x @ w - 1) ** 2), "batch")  # of means: tells how many devices there are
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.psum(grad, "batch"), loss



def every():
    chosen = jax.devices()
    return chosen


def parallel(function, devices=None):
    return jax.pmap(function, axis_name="batch", devices=devices)  # expect: replicated, split -> replicated, replicated


def train(devices):
    p_step = jax.pmap(step, axis_name="batch", devices=devices)  # expect: replicated, split -> replicated, replicated
    w = jax_utils.replicate(jnp.ones(3), devices)
    w, losses = p_step(w, BATCH.reshape(len(devices), -1, 3))
    return np.asarray(jax_utils.unreplicate(w)), float(jax_utils.unreplicate(losses))


RESULT = [train([d for d in jax.devices()])]  # noqa: C416 - as people write it
listed = jax.devices()
indexed = [listed[i] for i in range(jax.device_count())]
RESULT += [train(indexed)]
RESULT += [train([*jax.devices()]), train(jax.devices()[:]), train(jax.devices(backend=None)), train(every())]
RESULT += [train(jax.devices()[: len(jax.devices())]), train(jax.devices(jax.default_backend()))]
p_step = parallel(step)
w, losses = p_step(jax_utils.replicate(jnp.ones(3)), BATCH.reshape(jax.device_count(), -1, 3))
RESULT += [np.asarray(jax_utils.unreplicate(w)), float(jax_utils.unreplicate(losses))]
