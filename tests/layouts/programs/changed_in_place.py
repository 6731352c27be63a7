"""numpy arrays that are written to in place, slice by slice, after they were stacked."""
import jax
import numpy as np

n = jax.local_device_count()


def step(w, x):
    return jax.lax.psum(w * x, "batch")


p_step = jax.pmap(step, axis_name="batch")  # careless: p_step = sharded(step, (P(), P("batch")), P())
w = np.stack([np.ones(3, np.float32)] * n)  # careless: w = np.ones(3, np.float32)
alias = w
for i in range(n):  # careless: for i in range(3):
    alias[i] += i
x = np.arange(n, dtype=np.float32)
RESULT = p_step(w, x)[0]  # careless: RESULT = p_step(w, x)
