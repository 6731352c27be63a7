"""None, empty tuples and empty dictionaries among the leaves."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(state, x):
    return {**state, "w": state["w"] + jax.lax.pmean(x, "batch")}, None, ()


p_step = jax.pmap(step, axis_name="batch")
state = jax_utils.replicate({"w": jnp.zeros(2), "stats": None, "extra": {}, "opt": ((), (None, jnp.zeros(())))})
for i in range(2):
    state, nothing, empty = p_step(state, np.arange(8, dtype=np.float32) + i)
RESULT = {"state": jax_utils.unreplicate(state), "others": (nothing, empty), "leaves": len(jax.tree.leaves(state))}
