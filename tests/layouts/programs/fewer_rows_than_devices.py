"""Four slices on eight devices: pmap takes four of them. A mesh over all would not even divide the rows."""
import jax
import jax.numpy as jnp
import numpy as np

w = jnp.stack([jnp.arange(3.0)] * 4)  # careless: w = jnp.arange(3.0)
x = np.sin(np.arange(24, dtype=np.float32)).reshape((4, -1, 3))  # careless: x = np.sin(np.arange(24, dtype=np.float32)).reshape(-1, 3)


def step(w, x):
    return w - jax.lax.pmean(x.mean(0), "batch"), jax.lax.psum(1, "batch")


p_step = jax.pmap(step, axis_name="batch")  # careless: p_step = sharded(step, (P(), P("batch")), P())
w, n = p_step(w, x)
RESULT = {"w": w[0], "n": n[0]}  # careless: RESULT = {"w": w, "n": n}
