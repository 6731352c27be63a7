"""Two leading axes: replicated once too often, and the body takes the second one off."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(w, x):
    return w[3] * x, jax.lax.psum(w.sum() * 0 + x, "batch"), w.ndim


w = jax_utils.replicate(jax_utils.replicate(jnp.arange(3.0)))
p_step = jax.pmap(lambda w, x: step(w, x[0]), axis_name="batch")
scaled, total, ndim = p_step(w, np.arange(16.0, dtype=np.float32).reshape(8, 2))
RESULT = {"scaled": scaled, "total": total[0], "ndim": ndim[0], "w": w.shape}
