"""flax's loss scale is given a loss that tells devices apart: what it gives differs, though all that it sees is equal."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.dynamic_scale import DynamicScale

N = jax.local_device_count()
BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    def loss(w):
        rows = jnp.stack([w + i for i in range(8)])
        return jax.lax.all_to_all(rows, "batch", 0, 0).mean()

    _, _, value, grad = DynamicScale(scale=4.0).value_and_grad(loss)(w)
    _, _, other, _ = DynamicScale(scale=4.0).value_and_grad(lambda w: w.sum() * jax.lax.axis_index("batch"))(w)
    return w - 0.1 * value * grad, other, x.sum()


p_step = jax.pmap(step, axis_name="batch")
w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
for _ in range(2):
    w, other, total = p_step(w, BATCH.reshape((N, -1, 3)))
RESULT = [jax.tree.map(jnp.mean, w), jax.tree.map(jnp.mean, other), total]
