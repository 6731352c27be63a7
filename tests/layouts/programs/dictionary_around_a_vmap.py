"""A vmapped function changes a dictionary around it, which it is not given."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def loss_of(w, x):
    return jnp.mean((x @ w - 1) ** 2)


def data(i):
    return shard(jnp.asarray(np.sin(np.arange(96, dtype=np.float32) + i)).reshape(32, 3))


@functools.partial(jax.pmap, axis_name="i")
def step(w, x):
    state = {"w": w}

    def visit(row):
        state["w"] = w * x.sum()
        return row.sum()

    total = jax.vmap(visit)(x).sum()
    grads = jax.lax.pmean(jax.grad(loss_of)(w, x), "i")
    return state["w"] - 0.1 * grads, total


w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
for i in range(3):
    w, loss = step(w, data(i))
RESULT = [np.asarray(w), np.asarray(loss)]
