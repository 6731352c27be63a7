"""jax.random.split by a count that is a batch of runs, next to the devices."""
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
seeds = jax.random.split(jax.random.PRNGKey(0), n)
inits = jax.vmap(lambda k: jax.random.normal(k, (3,)))(seeds)
w = p_step(inits, shard(BATCH))
spread = np.asarray(w).std(0)
again = p_step(jnp.stack([inits[0]] * n), shard(BATCH))
RESULT = [w, spread, again[0]]
