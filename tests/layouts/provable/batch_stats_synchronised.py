"""Running statistics that the step itself averages are replicated as the parameters are."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(state, x):
    mean = jax.lax.pmean(x.mean(0), "batch")
    stats = 0.5 * state["stats"] + 0.5 * mean
    grad = jax.grad(lambda w: jnp.mean(((x - stats) @ w - 1) ** 2))(state["w"])
    return {"w": state["w"] - 0.1 * jax.lax.pmean(grad, "batch"), "stats": stats}


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated
state = jax_utils.replicate({"w": jnp.zeros(3), "stats": jnp.zeros(3)})
for i in range(3):
    state = p_step(state, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)))
RESULT = jax_utils.unreplicate(state)
