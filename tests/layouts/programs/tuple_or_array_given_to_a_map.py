"""A map is given a tuple in one place, and an array of as many rows in another."""

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
a, b = synchronised(jax_utils.replicate((jnp.ones(3), jnp.zeros(2))))
rows = jax_utils.replicate(jnp.arange(2.0))
first, *others = synchronised(rows)
RESULT = [np.asarray(a), np.asarray(b), np.asarray(first), len(others)]
