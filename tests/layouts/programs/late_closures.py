"""Closures that read a name after it has changed."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")

def train():
    readers = []
    w = jax_utils.replicate(jnp.ones(3))
    for _ in range(2):
        w = p_step(w, shard(BATCH))
        readers.append(lambda: np.asarray(w).sum())
    first = w[0]
    w = first
    return [reader() for reader in readers], first


RESULT = train()
