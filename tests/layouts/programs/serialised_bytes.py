"""flax's bytes of a stacked state hold eight copies."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, serialization

p_step = jax.pmap(lambda s, x: {"w": s["w"] + jax.lax.pmean(x, "i")}, axis_name="i")
state = p_step(jax_utils.replicate({"w": jnp.zeros(3)}), np.arange(8, dtype=np.float32))
data = serialization.to_bytes(jax.device_get(state))
back = serialization.from_bytes(state, data)
state = p_step(back, np.arange(8, dtype=np.float32))
RESULT = {"size": len(data), "w": state["w"][0]}
