"""Parameters and step on the last four devices only."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

DEVICES = jax.local_devices()[4:]


def step(w, x):
    return w + jax.lax.psum(x, "batch"), jax.lax.psum(1, "batch")


p_step = jax.pmap(step, axis_name="batch", devices=DEVICES)  # careless: p_step = sharded(step, (P(), P("batch")), P())
w = jax_utils.replicate(jnp.zeros(3), DEVICES)  # careless: w = jnp.zeros(3)
x = np.arange(24, dtype=np.float32).reshape(len(DEVICES), 6)[:, :3]  # careless: x = np.arange(24, dtype=np.float32).reshape(8, 3)
w, n = p_step(w, x)
RESULT = {"w": w[0], "n": int(n[0]), "where": sorted(d.id for d in w.devices())}  # careless: RESULT = {"w": w[0], "n": int(n), "where": sorted(d.id for d in w.devices())}
