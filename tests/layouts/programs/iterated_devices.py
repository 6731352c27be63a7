"""A loop over the device axis of replicated parameters: eight rounds, not one for each row."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(w, x):
    return w * jax.lax.pmean(x, "batch")


p_step = jax.pmap(step, axis_name="batch")
w = p_step(jax_utils.replicate(jnp.arange(6.0).reshape(2, 3)), np.arange(8.0, dtype=np.float32))
norms = [float(jnp.linalg.norm(replica)) for replica in w]
same = all(bool((replica == w[0]).all()) for replica in w)
RESULT = {"norms": norms, "same": same}
