"""A counter of clipped examples that each device keeps for itself, and whose sum is taken at the end."""
import jax
import jax.numpy as jnp
import numpy as np


def step(counter, x):
    clipped = jnp.sum(jnp.abs(x) > 0.5)
    return counter + clipped, jax.lax.psum(jnp.clip(x, -0.5, 0.5).sum(), "batch")


p_step = jax.pmap(step, axis_name="batch")  # careless: p_step = sharded(step, (P(), P("batch")), P())
n = jax.local_device_count()
counter = jnp.zeros((n,), jnp.int32)  # careless: counter = jnp.zeros((), jnp.int32)
total = 0.0
for i in range(3):
    x = np.sin(np.arange(64, dtype=np.float32) ** 2 + i).reshape(n, -1)  # careless: x = np.sin(np.arange(64, dtype=np.float32) ** 2 + i)
    counter, clipped_sum = p_step(counter, x)
    total += float(clipped_sum[0])  # careless: total += float(clipped_sum)
RESULT = {"clipped": int(counter.sum()), "total": total}
