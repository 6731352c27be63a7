"""What puts a tree together is an object of the program's own, which adds what differs between devices."""

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


class Structure:
    def unflatten(self, leaves):
        return leaves[0] + jax.lax.axis_index("i")


def taken_apart(tree, own):
    leaves, structure = jax.tree_util.tree_flatten(tree)
    if own:
        structure = Structure()
    return leaves, structure


@functools.partial(jax.pmap, axis_name="i")
def step(w, x):
    loss, grads = jax.lax.pmean(jax.value_and_grad(loss_of)(w, x), "i")
    leaves, structure = taken_apart(grads, own=True)
    return w - 0.1 * structure.unflatten(leaves), loss


w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
for i in range(3):
    w, loss = step(w, data(i))
RESULT = [np.asarray(w), np.asarray(loss)]
