"""Bodies on one line: a lambda, and a def with its return beside it."""
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

def draw(key, x): return x + jax.random.normal(key, x.shape)


p_lambda = jax.pmap(lambda w, key: w + jax.random.normal(key, w.shape))
keys = jax.random.split(KEY, jax.local_device_count())
RESULT = [p_lambda(jax_utils.replicate(jnp.ones(3)), keys), jax.pmap(draw)(keys, shard(BATCH)).reshape(16, 3)]
