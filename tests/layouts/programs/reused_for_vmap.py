"""The same step under pmap and under vmap, over the same stacked arrays."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(w, x):
    return w - 0.1 * jax.lax.pmean(jnp.outer(x, w).sum(0), "batch")


w = jax_utils.replicate(jnp.arange(3.0))
x = np.sin(np.arange(16, dtype=np.float32)).reshape(8, 2)
on_devices = jax.pmap(step, axis_name="batch")(w, x)
on_one = jax.vmap(step, axis_name="batch")(w, x)
RESULT = {"near": bool(jnp.allclose(on_devices, on_one)), "on_one": on_one.shape, "w": on_devices[0]}
