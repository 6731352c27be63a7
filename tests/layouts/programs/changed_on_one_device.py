"""Replicated parameters, of which one device's slice is changed on the host before they go in."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(params, x):
    return jax.tree.map(lambda p: p + jax.lax.pmean(x, "batch"), params), jax.lax.psum(params["w"].sum(), "batch")


p_step = jax.pmap(step, axis_name="batch")  # careless: p_step = sharded(step, (P(), P("batch")), P())
params = jax_utils.replicate({"w": jnp.ones(3), "b": jnp.zeros(())})  # careless: params = {"w": jnp.ones(3), "b": jnp.zeros(1)}
params["w"] = params["w"].at[3].set(5.0)
params, total = p_step(params, np.arange(8.0, dtype=np.float32))
RESULT = {"total": total[0], "w": params["w"], "b": params["b"][0]}  # careless: RESULT = {"total": total, "w": params["w"], "b": params["b"][0]}
