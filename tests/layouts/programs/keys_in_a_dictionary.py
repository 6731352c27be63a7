"""Keys for several purposes in one dictionary, one of each for every device."""
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

def body(w, x, rngs):
    return noisy(w, x, rngs["noise"]) * jax.random.uniform(rngs["scale"])


rngs = {name: shard_prng_key(jax.random.fold_in(KEY, i)) for i, name in enumerate(("noise", "scale"))}
w = jax.pmap(body, axis_name="batch")(jax_utils.replicate(jnp.ones(3)), shard(BATCH), rngs)
RESULT = w
