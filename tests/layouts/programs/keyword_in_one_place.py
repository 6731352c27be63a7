"""One call gives by keyword what another one leaves to its default, or gives by position."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x, scale=None, shift=None):
    grad = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w), "batch")
    return w - (0.125 if scale is None else scale) * grad + (0 if shift is None else shift)


p_step = jax.pmap(step, axis_name="batch")
q_step = jax.pmap(step, axis_name="batch")

w = jax_utils.replicate(jnp.ones(3))
w = p_step(w, shard(BATCH))
w = p_step(w, shard(BATCH), shift=jnp.arange(8.0))
v = q_step(w, shard(BATCH), jnp.arange(8.0))
v = q_step(v, shard(BATCH), shift=jnp.arange(8.0))
RESULT = [w, v, p_step(v, shard(BATCH), **{"scale": jnp.ones(8)})]
