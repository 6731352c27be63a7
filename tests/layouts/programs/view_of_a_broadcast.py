"""np.broadcast_to does not copy: parameters change under it."""
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
host = np.ones(3, np.float32)
everywhere = np.broadcast_to(host, (n,) + host.shape)
found = []
for i in range(2):
    found.append(jax.block_until_ready(p_step(everywhere, shard(BATCH)))[0])
    host *= 0.5
RESULT = found
