"""The replicated tree's own shape decides how a second tree is made."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

params = jax_utils.replicate({"w": jnp.ones((2, 3))})
velocity = jax.tree.map(lambda p: jnp.zeros(p.shape, p.dtype), params)
noise = jax.tree.map(lambda p: np.random.RandomState(0).randn(*p.shape).astype(np.float32), params)


def step(params, velocity, noise):
    velocity = jax.tree.map(lambda v, e: v + jax.lax.pmean(e, "i"), velocity, noise)
    return jax.tree.map(jnp.subtract, params, velocity), velocity


p_step = jax.pmap(step, axis_name="i")
params, velocity = p_step(params, velocity, noise)
RESULT = {"params": params["w"][0], "noise": noise["w"].sum()}
