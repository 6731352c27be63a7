"""A wrapper hands on some arguments by their places and others by their names."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
Y = np.cos(np.arange(48, dtype=np.float32)).reshape(16, 3)


def mix(a, b, c):
    return jax.lax.pmean(jnp.mean(a) - 2 * jnp.mean(b) + 3 * jnp.mean(c), "i"), a + b.sum() - c.sum()


p_mix = jax.pmap(mix, axis_name="i")


def run(fn, *args, **named):
    return fn(*args, **named)


w, x, y = jax_utils.replicate(jnp.arange(3.0)), shard(X), shard(Y)
each = [run(p_mix, w, c=x, b=y), run(p_mix, x, **{"c": w, "b": y}), run(p_mix, c=w, b=x, a=y)]
RESULT = [np.asarray(one) for out in each for one in out]
