"""Sizes are read in defaults, in comprehensions, in decorators and behind a star."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x):
    return w + jax.lax.pmean(x.mean(0), "i"), x * w


p_step = jax.pmap(step, axis_name="i")
w, x = jax_utils.replicate(jnp.ones(3)), shard(X)


def scaled(value, by=x.shape[0], rows=x.shape[1]):
    return value * by + rows


w, out = p_step(w, x)
sums = [scaled(one, *out.shape[1:]) for one in range(out.shape[0])]
table = {axis: size for axis, size in enumerate(w.shape)}
RESULT = [scaled(3), sums, table, [*out.shape], max(x.shape), sum(x.shape), x.shape == out.shape, x.shape[1:] == w.shape]
