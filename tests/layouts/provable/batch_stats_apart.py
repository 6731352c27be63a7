"""Parameters are global, statistics that no step synchronises stay one slice per device."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(w, stats, x):
    stats = 0.9 * stats + 0.1 * x.mean(0)
    grad = jax.grad(lambda w: jnp.mean(((x - stats) @ w - 1) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "batch"), stats


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, stacked, split -> replicated, stacked
p_sync = jax.pmap(lambda s: jax.lax.pmean(s, "batch"), axis_name="batch")  # expect: stacked -> replicated
w, stats = jax_utils.replicate(jnp.zeros(3)), jax_utils.replicate(jnp.zeros(3))
for i in range(3):
    w, stats = p_step(w, stats, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)))
synced = p_sync(stats)
RESULT = {"w": jax_utils.unreplicate(w), "stats": jax_utils.unreplicate(synced), "apart": np.asarray(stats).std(0)}
