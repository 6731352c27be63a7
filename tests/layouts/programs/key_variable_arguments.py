"""A body that takes its arguments by a star, and one with a default key."""
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

def body(*args):
    w, x, key = args
    return noisy(w, x, key)


def defaulted(w, x, key=KEY):
    return noisy(w, x, jax.random.fold_in(key, jax.lax.axis_index("batch")))


w = jax_utils.replicate(jnp.ones(3))
p_default = jax.pmap(defaulted, axis_name="batch")
RESULT = [
    jax.pmap(body, axis_name="batch")(w, shard(BATCH), shard_prng_key(KEY))[0],
    p_default(w, shard(BATCH))[0],
    p_default(w, shard(BATCH), shard_prng_key(KEY))[0],
]
