"""A star spreads one array more than the mapped function takes, which the program finds out by the error."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
Y = np.cos(np.arange(48, dtype=np.float32)).reshape(16, 3)


def mix(a, b):
    return jax.lax.pmean(jnp.mean(a) - 2 * jnp.mean(b), "i")


p_mix = jax.pmap(mix, axis_name="i")


def run(batches):
    return np.asarray(p_mix(*[shard(one) for one in batches]))


def attempt(batches):
    try:
        return run(batches)
    except (TypeError, ValueError):
        return "another number"


RESULT = [attempt([X, Y]), attempt([X, Y, X])]
