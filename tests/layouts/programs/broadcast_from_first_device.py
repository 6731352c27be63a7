"""Device 0 tells the others: a masked psum makes its value everybodys."""
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

def from_first(x):
    return jax.lax.psum(jnp.where(jax.lax.axis_index("i") == 0, x, jnp.zeros_like(x)), "i")


p_sync = jax.pmap(from_first, axis_name="i")
apart = jax.pmap(lambda w, x: w - x.mean(0))(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
synced = p_sync(apart)
RESULT = [synced[0], apart[0], apart[5], synced[7], jax.pmap(lambda w: w * 2)(synced)[0]]
