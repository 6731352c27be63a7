"""Actors have some devices and learners the others: two meshes, and arrays that go from one to the other by the host."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = np.sin(np.arange(72, dtype=np.float32)).reshape(24, 3)


def step(w, x):
    grad = jax.grad(lambda w: ((x @ w - 1) ** 2).mean())(w)
    return w - 0.1 * jax.lax.psum(grad, "i"), jax.lax.psum(((x @ w) ** 2).mean(), "i")


def actor(w, x):
    return jax.lax.psum(x @ w, "i")


def main(count):
    actors, learners = jax.devices()[:count], jax.devices()[count:]
    act = jax.pmap(actor, axis_name="i", devices=actors)  # expect: replicated, split -> replicated
    p_step = jax.pmap(step, axis_name="i", devices=learners)  # expect: replicated, split -> replicated, replicated
    w, out = jax_utils.replicate(jnp.ones(3), learners), []
    for _ in range(3):
        w, loss = p_step(w, BATCH.reshape(len(learners), -1, 3))
        acting = jax_utils.replicate(np.asarray(jax_utils.unreplicate(w)), actors)
        out.append(act(acting, BATCH.reshape(len(actors), -1, 3))[0])
    return out, loss[0]


RESULT = main(2)
