import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = np.sin(np.arange(96, dtype=np.float32)).reshape(32, 3)


def step(w, x):
    loss = jax.lax.psum(jnp.mean((x @ w - 1) ** 2), "batch")  # of means: tells how many devices there are
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.psum(grad, "batch"), loss


DEVICES = [d for d in jax.devices()]  # noqa: C416 - as people write it


def train():
    w = jax_utils.replicate(jnp.ones(3), DEVICES)
    p_step = jax.pmap(step, axis_name="batch", devices=DEVICES)
    w, losses = p_step(w, BATCH.reshape(len(DEVICES), -1, 3))
    return np.asarray(jax_utils.unreplicate(w)), float(jax_utils.unreplicate(losses))
