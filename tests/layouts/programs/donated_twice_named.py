"""One array under two names in a donated state: replicate makes two buffers of it, device_put need not."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(state, x):
    params = state["params"] - jax.lax.pmean(x, "batch")
    return {"params": params, "ema": 0.5 * state["ema"] + 0.5 * params}


p_step = jax.pmap(step, axis_name="batch", donate_argnums=(0,))  # careless: p_step = sharded(step, (P(), P("batch")), P(), donate_argnums=(0,))
w = jnp.arange(3.0)
state = jax_utils.replicate({"params": w, "ema": w})  # careless: state = jax.device_put({"params": w, "ema": w}, jax.NamedSharding(jax.sharding.Mesh(jax.devices(), ("batch",)), P()))
for i in range(3):
    state = p_step(state, np.cos(np.arange(8, dtype=np.float32) + i))
RESULT = {"state": jax_utils.unreplicate(state), "w": w}  # careless: RESULT = {"state": state, "w": w}
