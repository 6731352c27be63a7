"""A stacked state goes to disk as it is, and comes back into the mapped step."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(w, x):
    return w + jax.lax.pmean(x, "batch")


p_step = jax.pmap(step, axis_name="batch")
w = p_step(jax_utils.replicate(jnp.zeros(3)), np.arange(8.0, dtype=np.float32))
np.save("state.npy", w)
loaded = np.load("state.npy")
w = p_step(loaded, np.arange(8.0, dtype=np.float32) * 2)
with open("state.npy", "rb") as f:
    RESULT = {"bytes": len(f.read()), "shape": loaded.shape, "w": w[0]}
