"""Keys for devices and steps: split once, cut twice."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")

n = jax.local_device_count()
keys = jax.random.split(jax.random.PRNGKey(0), n * 3).reshape((n, 3, -1))


def noisy(w, keys):
    return jax.lax.scan(lambda w, k: (w + jax.random.normal(k, w.shape), None), w, keys)[0]


w = jax.pmap(noisy)(jax_utils.replicate(jnp.zeros(2)), keys)
same = jax.pmap(lambda k: jax.random.normal(k, ()))(jax_utils.replicate(jax.random.PRNGKey(1)))
RESULT = {"w": np.asarray(w), "same": np.asarray(same), "keys": keys[0]}
