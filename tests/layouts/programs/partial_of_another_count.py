"""Partials that bind a number by name, which a call replaces, or that leave it to their calls."""
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

N = jax.local_device_count()


def split(a, n):
    return jnp.reshape(a, (n, -1) + a.shape[1:])


def cut(a, n):
    return jnp.reshape(a, (n, -1) + a.shape[1:])


def part(size, n, a):
    return jnp.reshape(a, (n, size) + a.shape[1:])


def step(w, x):
    return w - jax.lax.pmean(x.mean(0), "batch")


p_step = jax.pmap(step, axis_name="batch")
x = np.arange(48.0).reshape(16, 3)
by_name = partial(split, n=N)
open_end = partial(cut, x)
first = partial(part, 2)
w = jax_utils.replicate(jnp.zeros(3))
RESULT = [
    p_step(w, by_name(x))[0],
    by_name(x, n=4).shape,
    p_step(w, open_end(N))[0],
    open_end(2).shape,
    p_step(w, first(N, x))[0],
    first(4, x[:8]).shape,
]
