"""Twenty rows in batches of six: the last one has two, and runs on two devices."""
import jax
import jax.numpy as jnp
import numpy as np

data = np.sin(np.arange(60, dtype=np.float32)).reshape(20, 3)


def step(x):
    return jax.lax.psum(x.sum(), "batch"), jax.lax.psum(1, "batch"), x * 2


p_step = jax.pmap(step, axis_name="batch")  # careless: p_step = sharded(step, P("batch"), (P(), P(), P("batch")))
found = []
for start in range(0, 20, 6):
    total, devices, doubled = p_step(data[start : start + 6])
    found.append((total[0], devices[-1], doubled))  # careless: found.append((total, devices, doubled))
RESULT = found
