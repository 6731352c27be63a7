"""A partial that binds by a star what may be any number of arguments, called with stars again."""

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
    loss, grads = jax.lax.pmean(jax.value_and_grad(loss_of)(w, x), "i")
    return w - 0.1 * grads, loss


def rows(first, second, *, scale=1.0, **more):
    return [np.asarray(first).shape, np.asarray(second).shape, scale * np.asarray(first).sum(), len(more)]


bound = [jnp.ones(2)]
show = functools.partial(rows, *bound)
options = {"scale": 2.0, "name": 1}
w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
for i in range(3):
    w, loss = step(w, data(i))
RESULT = [*show(w, **options), np.asarray(loss)]
