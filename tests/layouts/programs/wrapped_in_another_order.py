"""A wrapper hands its arguments on in another order than it gets them."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
Y = np.cos(np.arange(48, dtype=np.float32)).reshape(16, 3)


def mix(a, b):
    return jax.lax.pmean(jnp.mean(a) - 2 * jnp.mean(b), "i"), a + b.sum()


p_mix = jax.pmap(mix, axis_name="i")
w, x = jax_utils.replicate(jnp.arange(3.0)), shard(X)


def flipped(fn, *args):
    return fn(*args[::-1])


def swapped(fn, *args):
    return fn(args[1], *args[:1])


RESULT = [np.asarray(one) for run in (flipped, swapped) for one in run(p_mix, w, x)]
