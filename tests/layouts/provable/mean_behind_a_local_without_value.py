"""A local name that has no value yet raises an UnboundLocalError, which is a NameError."""

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
        jax.lax.axis_index("i")
        y = jax.lax.pmean(scaled, "i")
        scaled = x
        return y + scaled
    except NameError:
        return x


@functools.partial(jax.pmap, axis_name="i")  # expect: stacked, split -> stacked, stacked
def step(w, x):
    loss, grads = jax.value_and_grad(loss_of)(w, x)
    grads = mean(grads)
    return w - 0.1 * grads, loss


w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
for i in range(3):
    w, loss = step(w, data(i))
RESULT = [np.asarray(w), np.asarray(loss)]
