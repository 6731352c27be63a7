"""The same for each leaf of a tree, over an axis that the module names."""

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


AXIS = "devices"
mean_of_leaf = functools.partial(jax.lax.pmean, axis_name=AXIS)


def mean(tree):
    try:
        return jax.tree.map(mean_of_leaf, tree)
    except NameError:
        return tree


@functools.partial(jax.pmap, axis_name=AXIS)  # expect: replicated, split -> replicated, replicated
def step(w, x):
    loss, grads = jax.value_and_grad(loss_of)(w, x)
    loss, grads = mean((loss, grads))
    return w - 0.1 * grads, loss


w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
for i in range(3):
    w, loss = step(w, data(i))
RESULT = [jax_utils.unreplicate(w), jax_utils.unreplicate(loss)]
