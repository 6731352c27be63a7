"""A closure is found among the local variables and called before and after the state is replicated."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def first(tree):
    return jax.tree.map(lambda x: x[0], tree)


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")


def train():
    w = jnp.linspace(0.1, 1.0, 3)

    def look():
        return first(w)

    looks = [value for value in list(locals().values()) if callable(value)]
    before = looks[0]()
    w = p_step(jax_utils.replicate(w), shard(BATCH))
    return before, looks[0]()


RESULT = train()
