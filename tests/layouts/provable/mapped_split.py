"""flax's `shard`, mapped over an iterator of batches."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils


def step(w, batch):
    grad = jax.grad(lambda w: jnp.mean((batch["x"] @ w - 1) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "batch")


def batches():
    for i in range(3):
        yield {"x": np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)}


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated
w = jax_utils.replicate(jnp.zeros(3))
for batch in jax_utils.prefetch_to_device(map(common_utils.shard, batches()), 2):
    w = p_step(w, batch)
RESULT = jax_utils.unreplicate(w)
