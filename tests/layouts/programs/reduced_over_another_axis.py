"""A pmean over the inner vmap's axis says nothing about devices."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def inner(w, x):
    return w - 0.1 * jax.lax.pmean(x, "agents")


def step(w, x):
    return jax.vmap(inner, axis_name="agents")(w, x)


p_step = jax.pmap(step, axis_name="devices")
w = jax_utils.replicate(jnp.zeros(3))
w = p_step(w, np.arange(24, dtype=np.float32).reshape(8, 3))
RESULT = {"first": w[0], "all": w}
