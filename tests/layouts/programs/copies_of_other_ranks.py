"""Copies of arrays with as many rows as there are devices, computed with single numbers and with one another."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, v, b, x):
    loss = jax.lax.pmean(jnp.mean(x) * w.sum(), "i")
    return w - loss, v * loss, loss + b


p_step = jax.pmap(step, axis_name="i")
w = jax_utils.replicate(jnp.sin(jnp.arange(8.0)))
v = jax_utils.replicate(jnp.cos(jnp.arange(64.0)).reshape(8, 8))
b = jax_utils.replicate(jnp.float32(0.5))
for i in range(2):
    w, v, b = p_step(w, v, b, shard(BATCH + i))
w = w * b
v = v - w
v = v / b
w, v, b = p_step(w, v, b, shard(BATCH))
RESULT = {"w": w[0], "v": v[0], "b": b[0]}
