"""A frozen state gets an entry with a number for each device, made on the host, by flax's copy."""
import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.core import FrozenDict


def step(state):
    scaled = state["w"] * state["scale"]
    return state.copy({"w": state["w"] + 0.5}), jax.lax.psum(scaled.sum(), "i"), jnp.float32(scaled.ndim)


p_step = jax.pmap(step, axis_name="i")
state = jax_utils.replicate(FrozenDict({"w": jnp.arange(8.0), "scale": jnp.float32(1)}))
state = flax.core.copy(state, {"scale": np.arange(8, dtype=np.float32) + 1})
state, total, rank = p_step(state)
RESULT = {"total": total[0], "rank": rank[0], "w": np.asarray(state["w"])}
