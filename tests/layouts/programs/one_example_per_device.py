"""Batches of exactly one row per device, with and without an axis for it."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard, shard_prng_key

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
KEY = jax.random.PRNGKey(0)


def noisy(w, x, key):
    x = x + jax.random.normal(key, x.shape)
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")

x = np.arange(24, dtype=np.float32).reshape(8, 3)
p_a = jax.pmap(lambda w, x: (x @ w, jnp.float32(x.ndim)))
w = jax_utils.replicate(jnp.ones(3))
RESULT = [p_a(w, shard(x)), p_a(w, x), p_a(w, x.reshape(8, 1, 3)), p_a(w, x[:, None])]
