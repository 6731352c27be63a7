"""A list that asks for more devices than there are: as many as there are count, and not what stands there."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

DEVICES = jax.devices()[:16]
p_scale = jax.pmap(lambda w, x: w * jax.lax.psum(x, "i"), axis_name="i", devices=DEVICES)
w = jax_utils.replicate(jnp.ones(2), DEVICES)
y = p_scale(w, np.arange(16.0, dtype=np.float32).reshape((len(DEVICES), -1)))
p_few = jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i", devices=DEVICES)
RESULT = [y.shape, len(y), y[0], w.shape[0], p_few(jnp.arange(2.0))[0], p_few(jnp.arange(8.0))[0]]
