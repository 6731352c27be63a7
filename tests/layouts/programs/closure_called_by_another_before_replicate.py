"""A function is called by another, and that by a lambda, before what it reads is replicated."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = shard(np.arange(48, dtype=np.float32).reshape(16, 3) / 7)


def step(w, x):
    return w - 0.1 * jax.lax.pmean(x.mean(0), "batch")


p_step = jax.pmap(step, axis_name="batch")


def main(w):
    def evaluated():
        return jax.tree.map(lambda x: x[0], w)

    def doubled():
        return evaluated() * 2

    found = [call() for call in [lambda: doubled()]]
    w = jax_utils.replicate(w)
    w = p_step(w, BATCH)
    return [*found, evaluated()]


RESULT = main(jnp.linspace(0.1, 1.0, 3))
