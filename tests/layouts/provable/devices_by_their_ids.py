"""Learners have the devices of some ids, and the host puts their parameters on one of the others."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = np.sin(np.arange(72, dtype=np.float32)).reshape(24, 3)


def step(w, x):
    grad = jax.grad(lambda w: ((x @ w - 1) ** 2).mean())(w)
    return w - 0.1 * jax.lax.psum(grad, "i"), jax.lax.psum(((x @ w) ** 2).mean(), "i")


def main(ids, others):
    local = jax.local_devices()
    learners = [local[i] for i in ids]
    actors = [local[i] for i in others]
    w = jax_utils.replicate(jnp.ones(3), devices=learners)
    p_step = jax.pmap(step, axis_name="i", devices=learners)  # expect: replicated, split -> replicated, stacked
    out = []
    for _ in range(3):
        w, loss = p_step(w, jnp.stack(jnp.split(BATCH, len(ids))))
        mine = jax.device_put(jax_utils.unreplicate(w), actors[0])
        out.append(mine + 1)
    return out, loss.mean(), [d.id for d in mine.devices()]


RESULT = main([2, 3, 5, 7], [0, 1])
