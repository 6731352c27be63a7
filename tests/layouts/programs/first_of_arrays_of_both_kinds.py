"""A helper takes the first element of what has a device axis, of an array, a list and a tuple."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

n = jax.local_device_count()
X = np.sin(np.arange(n * 6, dtype=np.float32)).reshape(n * 2, 3)


def step(w, x):
    g = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w), "i")
    return w - 0.1 * g, jax.lax.pmean(jnp.sum(x), "i")


p_step = jax.pmap(step, axis_name="i")


def first(x):
    return x[0]


def columns(x):
    return x[:, 0]


w = jax_utils.replicate(jnp.ones(3))
w, loss = p_step(w, shard(X))
RESULT = [np.asarray(first(loss)), first(np.arange(4.0)), first([5, 6]), first((7, 8))]
RESULT += [np.asarray(columns(w)).ravel()[0], columns(X)]
