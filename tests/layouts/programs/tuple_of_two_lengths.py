"""A map is given tuples of two lengths."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def loss_of(w, x):
    return jnp.mean((x @ w - 1) ** 2)


def data(i):
    return shard(jnp.asarray(np.sin(np.arange(96, dtype=np.float32) + i)).reshape(32, 3))


def synchronise(state):
    return jax.lax.pmean(state, "i")


synchronised = jax.pmap(synchronise, "i")
a, b, c = jax_utils.replicate((jnp.ones(3), jnp.zeros(2), jnp.arange(4.0)))
a, b = synchronised((a, b))
a, b, c = synchronised((a, b, c))
rows = jnp.arange(8.0).reshape(8, 1)
(means,) = synchronised((rows,))
RESULT = [np.asarray(a), np.asarray(b), np.asarray(c), np.asarray(means)]
