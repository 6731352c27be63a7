"""The number of devices, read off a leaf's leading axis."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

state = jax_utils.replicate({"w": jnp.ones((5, 3)), "b": jnp.zeros(3)})
n = jax.tree_util.tree_leaves(state)[0].shape[0]
x = np.sin(np.arange(48, dtype=np.float32)).reshape((n, -1, 3))


def step(state, x):
    return {**state, "b": state["b"] + jax.lax.pmean(x.mean(0), "batch")}


p_step = jax.pmap(step, axis_name="batch")
state = p_step(state, x)
RESULT = {"n": n, "b": state["b"][0]}
