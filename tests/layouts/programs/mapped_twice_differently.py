"""One body, mapped under two names with unlike axes."""
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

def body(w, x):
    return w * jax.lax.pmean(x, "i")


p_both = jax.pmap(body, axis_name="i")
p_one = jax.pmap(body, axis_name="i", in_axes=(None, 0))
w = jax_utils.replicate(jnp.arange(3.0))
x = np.arange(8, dtype=np.float32)
RESULT = [p_both(w, x)[0], p_one(jax.device_get(w), x).shape, p_one(w[0], x)[0]]
