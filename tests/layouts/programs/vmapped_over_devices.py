"""vmap over the device axis of a mapped result, and back in."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

p_step = jax.pmap(lambda w, x: w + x - jax.lax.pmean(x, "i"), axis_name="i")
w = jax_utils.replicate(jnp.arange(3.0))
x = np.sin(np.arange(8, dtype=np.float32))
w = jax.vmap(lambda w, s: w * s)(p_step(w, x), jnp.arange(8.0))
RESULT = jax.vmap(jnp.linalg.norm)(p_step(w, x))
