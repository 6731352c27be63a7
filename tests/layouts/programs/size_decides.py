"""The size of an array decides what is done with it, and is passed on in several ways."""
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


def mean_of(array, shape=None):
    count = np.prod((shape or array.shape)[:2])
    return array.sum() / count


w, out = p_step(w, x)
total = 0
for size in out.shape:
    total = total * 7 + size
n, b = (s := x.shape)[0], s[1]
chunk = X[: x.shape[0] // 2] if x.shape[0] > x.shape[1] else X
zeros = np.zeros(x.shape[1:])
again = X.reshape(x.shape)
RESULT = [total, n, b, chunk, zeros, again, float(mean_of(X)), w.shape[::-1], x.shape[-2], x.shape[:-1], 2 * x.shape[1]]
