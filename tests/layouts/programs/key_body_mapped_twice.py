"""One body under two maps: a key for each device, and one for all."""
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

p_own = jax.pmap(noisy, axis_name="batch")
p_one = jax.pmap(noisy, axis_name="batch", in_axes=(0, 0, None))
p_same = jax.pmap(noisy, axis_name="batch")
w = jax_utils.replicate(jnp.ones(3))
RESULT = [
    p_own(w, shard(BATCH), shard_prng_key(KEY))[0],
    p_one(w, shard(BATCH), KEY)[0],
    p_same(w, shard(BATCH), jax_utils.replicate(KEY))[0],
]
