"""A partial that is called with two stars: what stands before them is where it belongs."""

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


@functools.partial(jax.pmap, axis_name="i")  # expect: replicated, split -> replicated, replicated
def step(w, x):
    loss, grads = jax.lax.pmean(jax.value_and_grad(loss_of)(w, x), "i")
    return w - 0.1 * grads, loss


def sample(w, count, scale=1.0, shift=0.0):
    one = jax_utils.unreplicate(w)
    return [scale * one + shift * i for i in range(count)]


sampler = functools.partial(sample, scale=2.0)
options = {"count": 2, "shift": 0.5}
w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
for i in range(3):
    w, loss = step(w, data(i))
RESULT = [jax_utils.unreplicate(w), jax_utils.unreplicate(loss), *sampler(w, **options)]
