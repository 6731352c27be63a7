"""An array without elements among the leaves: one axis more or less of nothing."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(state, x):
    return {**state, "w": state["w"] + jax.lax.pmean(x, "batch")}


p_step = jax.pmap(step, axis_name="batch")
state = p_step(jax_utils.replicate({"w": jnp.zeros(2), "none": jnp.zeros(0)}), np.arange(8, dtype=np.float32))
RESULT = {"state": jax_utils.unreplicate(state), "bytes": state["none"].nbytes}
