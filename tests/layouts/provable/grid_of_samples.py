"""Samples that host code scales are joined to a grid by a reshape: nobody looks at where the state that made them lies."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(params, batch):
    grads = jax.grad(lambda p: jnp.mean((batch @ p) ** 2))(params)
    return params - 0.1 * jax.lax.pmean(grads, "batch")


def sample(rng, params):
    return jax.random.normal(rng, (4, 3)) * params


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated
p_sample = jax.pmap(sample, axis_name="batch")  # expect: stacked, replicated -> stacked
params = jax_utils.replicate(jnp.ones(3))
saved = []
for i in range(2):
    params = p_step(params, shard(np.sin(np.arange(96, dtype=np.float32) + i).reshape(32, 3)))
    kept = jax_utils.unreplicate(params)
    saved.append(kept)
    keys = jax.random.split(jax.random.PRNGKey(i), jax.local_device_count())
    samples = p_sample(keys, params)
    samples = (samples + 1.0) / 2.0
    grid = samples.reshape((-1, *samples.shape[2:]))
    params = jax_utils.replicate(kept)
RESULT = {"grid": grid, "saved": saved, "params": jax_utils.unreplicate(params)}
