"""The body with a key is also called without a map, under vmap, with one key."""
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

p_noisy = jax.pmap(noisy, axis_name="batch")
w = p_noisy(jax_utils.replicate(jnp.ones(3)), shard(BATCH), shard_prng_key(KEY))
alone = jax.vmap(noisy, in_axes=(None, 0, 0), axis_name="batch")(jnp.ones(3), shard(BATCH), jax.random.split(KEY, 8))
RESULT = [w[0], alone.shape]
