"""Functions of the main function read its state, which is only replicated after they were defined."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = shard(np.arange(48, dtype=np.float32).reshape(16, 3) / 7)


def step(w, x):
    return w - 0.1 * jax.lax.pmean(x.mean(0), "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated


def main(w):
    def first_two():
        return evaluated() * 2

    def evaluated():
        return jax.tree.map(lambda x: x[0], w)

    found = []
    w = jax_utils.replicate(w)
    for i in range(3):
        w = p_step(w, BATCH)
        found += [evaluated(), first_two()]
    return found


RESULT = main(jnp.linspace(0.1, 1.0, 3))
