"""A tree of gradients is taken apart, clipped and put together again by a method of its structure."""

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


def clipped(tree, most):
    leaves, structure = jax.tree_util.tree_flatten(tree)
    norm = jnp.sqrt(sum(jnp.vdot(leaf, leaf) for leaf in leaves))
    return structure.unflatten([leaf * jnp.minimum(most / (norm + 1e-6), 1.0) for leaf in leaves])


@functools.partial(jax.pmap, axis_name="i")  # expect: replicated, split -> replicated, replicated
def step(w, x):
    loss, grads = jax.lax.pmean(jax.value_and_grad(loss_of)(w, x), "i")
    return w - 0.1 * clipped(grads, 0.5), loss


w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
for i in range(3):
    w, loss = step(w, data(i))
RESULT = [jax_utils.unreplicate(w), jax_utils.unreplicate(loss)]
