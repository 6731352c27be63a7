"""Python numbers lose their weak type on the way through replicate; a number under P() would keep it."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(config, x):
    scaled = x * config["lr"]
    return {"dtype": scaled * 3, "count": config["count"] + jax.lax.psum(1, "batch"), "on": config["on"] & (x.sum() > 0)}


p_step = jax.pmap(step, axis_name="batch")  # careless: p_step = sharded(step, (P(), P("batch")), P())
config = jax_utils.replicate({"lr": 0.1, "count": 3, "on": True})  # careless: config = {"lr": 0.1, "count": 3, "on": True}
x = jnp.ones((8, 2), jnp.bfloat16)
out = p_step(config, x)
RESULT = jax_utils.unreplicate(out)  # careless: RESULT = out
