"""Replicated, then multiplied by a number for each device through broadcasting."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(w, x):
    return jax.lax.pmean(w * x.sum(), "batch")


p_step = jax.pmap(step, axis_name="batch")  # careless: p_step = sharded(step, (P(), P("batch")), P())
w = jax_utils.replicate(jnp.ones(8))  # careless: w = jnp.ones(8)
w = w * jnp.arange(8.0)[:, None]  # careless: w = w * jnp.arange(8.0)
x = np.sin(np.arange(32, dtype=np.float32)).reshape(8, 4)  # careless: x = np.sin(np.arange(32, dtype=np.float32))
RESULT = p_step(w, x)[0]  # careless: RESULT = p_step(w, x)
