"""A body under jit, under a wrapper of the project and under partial."""
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

def doubled(f):
    @functools.wraps(f)
    def call(*args):
        return 2 * f(*args)

    return call


@doubled
@jax.jit
def draw(key, x):
    return x + jax.random.normal(key, x.shape)


def scaled(scale, key, x):
    return draw(key, x) * scale


keys = shard_prng_key(KEY)
RESULT = [jax.pmap(draw)(keys, shard(BATCH))[3], jax.pmap(functools.partial(scaled, 3.0))(keys, shard(BATCH))[3]]
