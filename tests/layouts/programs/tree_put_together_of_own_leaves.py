"""The structure is the same everywhere, the leaves that it is filled with are not."""

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
    leaves, structure = jax.tree_util.tree_flatten(grads)
    return w - 0.1 * structure.unflatten([leaf + x.sum() for leaf in leaves]), loss


w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
for i in range(3):
    w, loss = step(w, data(i))
RESULT = [np.asarray(w), np.asarray(loss)]
