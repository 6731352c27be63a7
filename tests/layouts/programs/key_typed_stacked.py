"""Typed keys from jax.random.key, split, cloned and wrapped."""
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

keys = jax.random.split(jax.random.key(5), jax.local_device_count())
data = jax.random.key_data(keys)
w = jax.pmap(noisy, axis_name="batch")(jax_utils.replicate(jnp.ones(3)), shard(BATCH), keys)
w = jax.pmap(noisy, axis_name="batch")(w, shard(BATCH), jax.random.wrap_key_data(data))
RESULT = [w[0], data, str(keys.dtype)]
