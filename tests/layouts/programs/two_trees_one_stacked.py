"""A map over two trees of which one is stacked: broadcasting makes the result stacked as well."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

p_step = jax.pmap(lambda p, x: jax.tree.map(lambda p: p + jax.lax.pmean(x, "i"), p), axis_name="i")
initial = {"w": jnp.sin(jnp.arange(3.0)), "b": jnp.ones(())}
params = p_step(jax_utils.replicate(initial), np.arange(8, dtype=np.float32))
drift = jax.tree.map(lambda now, then: now - then, params, initial)
ema = jax.tree.map(lambda e, p: 0.9 * e + 0.1 * p, initial, params)
RESULT = {"drift": drift, "ema": jax.tree.map(jnp.shape, ema), "norm": jnp.sqrt(sum((d**2).sum() for d in jax.tree.leaves(drift)))}
