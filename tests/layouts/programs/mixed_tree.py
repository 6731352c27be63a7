"""One tree with leaves that are stacked and leaves that are not; `[0]` of each means something else."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

p_step = jax.pmap(lambda p, x: p + jax.lax.pmean(x, "i"), axis_name="i")
params = jax_utils.replicate(jnp.zeros(3))
state = {"params": params, "schedule": np.array([0.1, 0.01, 0.001], np.float32), "step": np.zeros((1,), np.int32)}
for i in range(2):
    state["params"] = p_step(state["params"], np.arange(8, dtype=np.float32) * state["schedule"][i])
    state["step"] += 1
RESULT = jax.tree.map(lambda x: x[0], state)
