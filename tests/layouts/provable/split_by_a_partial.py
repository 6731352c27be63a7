"""Batches that a partial splits, to which it binds how many devices there are."""
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def split(n, a):
    return jnp.reshape(a, (n, -1) + a.shape[1:])


def step(w, x, y):
    grad = jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split, split -> replicated


def main():
    n = jax.local_device_count()
    each = partial(split, n)
    w = jax_utils.replicate(jnp.zeros(3))
    for i in range(3):
        x, y = map(partial(split, n), (np.arange(48.0).reshape(16, 3) / 9 + i, np.arange(16.0) * i))
        w = p_step(w, x, y)
        w = p_step(w, each(np.arange(48.0).reshape(16, 3)), each(np.ones(16)))
    return w[0]


RESULT = main()
