"""A partial binds the first parameter: what it is called with comes to the second, which sums over all devices."""

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


def total(first, second, scale=1.0):
    return scale * jnp.sum(second) + jnp.sum(first)


summed = functools.partial(total, jnp.ones(3))
options = {"scale": 2.0}
w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
for i in range(3):
    w, loss = step(w, data(i))
RESULT = [summed(w, **options), np.asarray(loss)]
