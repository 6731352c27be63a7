"""One wrapper is given two arguments in one place and three in another."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
Y = np.cos(np.arange(48, dtype=np.float32)).reshape(16, 3)


def mix(a, b, c=None):
    return jax.lax.pmean(jnp.mean(a) - 2 * jnp.mean(b) + (0 if c is None else jnp.mean(c)), "i")


p_mix = jax.pmap(mix, axis_name="i")
w, x, y = jax_utils.replicate(jnp.arange(3.0)), shard(X), shard(Y)


def run(*args):
    return p_mix(*args)


RESULT = [np.asarray(run(w, x)), np.asarray(run(w, x, y)), np.asarray(run(*[x, w]))]
