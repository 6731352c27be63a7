"""Checkpoints are taken by tree_map of `[0]` and device_get, several times."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, serialization
from flax.training.common_utils import shard


def step(params, x):
    grads = jax.grad(lambda p: jnp.mean((x @ p["w"] + p["b"] - 1) ** 2))(params)
    return jax.tree_util.tree_map(lambda p, g: p - 0.1 * jax.lax.pmean(g, "batch"), params, grads)


def checkpoint(params):
    params = jax.device_get(jax.tree_util.tree_map(lambda x: x[0], params))
    return serialization.to_bytes(params)


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated
params = jax_utils.replicate({"w": jnp.zeros(3), "b": jnp.zeros(())})
saved = []
for i in range(3):
    params = p_step(params, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)))
    saved.append(checkpoint(params))
RESULT = [text.hex() for text in saved]
