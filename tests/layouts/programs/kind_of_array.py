"""isinstance tells numpy's arrays from JAX's."""
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
w = np.stack([np.ones(3, np.float32)] * n)
batch = shard(BATCH)
scale = 2.0 if isinstance(w, np.ndarray) and isinstance(batch, np.ndarray) else 1.0
RESULT = {"out": p_step(w, batch)[0] * scale, "kind": type(batch).__name__}
