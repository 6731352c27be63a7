"""Functions in tables take all devices by default, and are given none."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = np.sin(np.arange(96, dtype=np.float32)).reshape(32, 3)


def step(w, x):
    loss = jax.lax.psum(jnp.mean((x @ w - 1) ** 2), "batch")  # of means: tells how many devices there are
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.psum(grad, "batch"), loss


DEVICES = jax.local_devices()


def trained(devices=DEVICES, rate=1.0):
    w = jax_utils.replicate(jnp.ones(3), devices)
    p_step = jax.pmap(step, axis_name="batch", devices=devices)  # expect: replicated, split -> replicated, replicated

    def run(batch):
        new, losses = p_step(w, batch.reshape(len(devices), -1, 3))
        return rate * np.asarray(jax_utils.unreplicate(new)), float(jax_utils.unreplicate(losses))

    return run


def scored(devices=DEVICES):
    w = jax_utils.replicate(jnp.ones(3), devices)
    p_step = jax.pmap(step, axis_name="batch", devices=devices)  # expect: replicated, split -> replicated, replicated
    return lambda batch: float(jax_utils.unreplicate(p_step(w, batch.reshape(len(devices), -1, 3))[1]))


FUNCTIONS = {"trained": trained, "scored": scored}
MORE = [scored]
made = {key: FUNCTIONS[key]() for key in ("trained", "scored")}
RESULT = [run(BATCH) for run in made.values()]
RESULT += [function()(BATCH) for function in MORE] + [FUNCTIONS.get("trained")(rate=2.0)(BATCH)]
