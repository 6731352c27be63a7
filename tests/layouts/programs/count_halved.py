"""A number of devices that a function works out from the real one."""
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

def usable():
    n = jax.local_device_count()
    while len(BATCH) % (n * 4):
        n -= 1
    return n


n = usable()
p_count = jax.pmap(lambda w, x: (step(w, x), jax.lax.psum(1, "batch")), axis_name="batch")
w, count = p_count(jnp.stack([jnp.ones(3)] * n), BATCH.reshape((n, -1, 3)))
RESULT = {"w": w[0], "count": count[0]}
