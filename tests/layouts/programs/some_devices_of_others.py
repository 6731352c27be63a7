"""Maps over a few devices beside maps over others, and a list of devices that another name changes."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

FIRST, REST = jax.devices()[:4], jax.devices()[4:]
BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x):
    return w - jax.lax.pmean(x.mean(0), "i")


p_first = jax.pmap(step, axis_name="i", devices=FIRST)
p_rest = jax.pmap(step, axis_name="i", devices=REST)
p_all = jax.pmap(step, axis_name="i")
w = p_first(jax_utils.replicate(jnp.ones(3), FIRST), BATCH.reshape((len(FIRST), -1, 3)))
w = p_rest(jax_utils.replicate(jax_utils.unreplicate(w), REST), BATCH.reshape((len(REST), -1, 3)))
RESULT = [w, p_all(jax_utils.replicate(jax_utils.unreplicate(w)), BATCH.reshape((8, -1, 3)))]
