"""Nine slices for eight devices, and slices of unlike number: pmap refuses, and so must what comes out."""
import jax
import jax.numpy as jnp
import numpy as np

p_step = jax.pmap(lambda w, x: w * jax.lax.pmean(x, "i"), axis_name="i")
w = jnp.stack([jnp.arange(3.0)] * 8)
RESULT = p_step(w, np.arange(4, dtype=np.float32))
