"""A wrapper puts something else among its arguments."""
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


def run(fn, *args):
    args = list(args)
    args[0] = np.stack([np.full(3, i, np.float32) for i in range(8)])
    args.reverse()
    return fn(*args)


total, both = run(p_mix, w, x)
RESULT = [np.asarray(total), np.asarray(both)]
