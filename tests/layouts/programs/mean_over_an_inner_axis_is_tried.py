"""The axis that is asked for is bound by a vmap, not by the map."""

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


def mean(x):
    try:
        return jax.lax.pmean(x, "j")
    except NameError:
        return x


@functools.partial(jax.pmap, axis_name="i")
def step(w, x):
    grads = jax.vmap(lambda row: mean(jax.grad(loss_of)(w, row[None])), axis_name="j")(x)
    return w - 0.1 * grads[0], loss_of(w, x)


w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
for i in range(3):
    w, loss = step(w, data(i))
RESULT = [np.asarray(w), np.asarray(loss)]
