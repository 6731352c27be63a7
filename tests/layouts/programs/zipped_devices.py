"""zip over devices pairs each device's key with its slice of the parameters."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

p_scale = jax.pmap(lambda w, s: w * jax.lax.pmax(s, "i"), axis_name="i")
w = p_scale(jax_utils.replicate(jnp.arange(4.0)), jnp.linspace(0, 1, jax.local_device_count()))
keys = jax.random.split(jax.random.PRNGKey(0), jax.local_device_count())
noisy = [replica + jax.random.normal(key, replica.shape) for replica, key in zip(w, keys)]
RESULT = {"noisy": jnp.stack(noisy), "pairs": len(list(zip(w, keys)))}
