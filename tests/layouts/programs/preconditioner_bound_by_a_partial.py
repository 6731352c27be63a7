"""The same by a partial of the factory."""

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


def own(grads, x):
    return grads * x.sum()


def make_step(rate, precondition=None):
    @functools.partial(jax.pmap, axis_name="i")
    def step(w, x):
        loss, grads = jax.lax.pmean(jax.value_and_grad(loss_of)(w, x), "i")
        if precondition is not None:
            grads = precondition(grads, x)
        return w - rate * grads, loss

    return step


make_own = functools.partial(make_step, precondition=own)
step = make_own(0.1)


w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
for i in range(3):
    w, loss = step(w, data(i))
RESULT = [np.asarray(w), np.asarray(loss)]
