"""A body whose parameter is rebound, deleted and read by an inner function."""
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

def body(w, x, key):
    """Splits its key."""
    key, sub = jax.random.split(key)

    def draw(shape):
        return jax.random.normal(key, shape) + jax.random.uniform(sub)

    x = x + draw(x.shape)
    del sub
    return noisy(w, x, key), key


w, keys = jax.pmap(body, axis_name="batch")(jax_utils.replicate(jnp.ones(3)), shard(BATCH), shard_prng_key(KEY))
RESULT = [w[0], keys, keys.shape]
