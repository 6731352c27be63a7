"""Keys of devices that the host also looks at, splits and sums."""
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

keys = shard_prng_key(KEY)
w = jax.pmap(noisy, axis_name="batch")(jax_utils.replicate(jnp.ones(3)), shard(BATCH), keys)
again = jax.vmap(lambda k: jax.random.split(k)[0])(keys)
w = jax.pmap(noisy, axis_name="batch")(w, shard(BATCH), again)
RESULT = [w[0], keys, keys[0], keys.shape, jax.random.normal(keys[3], ()), len(keys)]
