"""A program replaces flax's replicate by its own, which numbers the copies."""
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

def numbered(tree):
    return jax.tree.map(lambda x: jnp.stack([x + i for i in range(jax.local_device_count())]), tree)


jax_utils.replicate = numbered
try:
    w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
finally:
    import importlib

    importlib.reload(jax_utils)
RESULT = w
