"""A mean over eight equal slices is the slice itself only where the rounding of sums is kind."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


@functools.partial(jax.pmap, axis_name="batch")
def step(params, x):
    return jax.tree.map(lambda p: p - 0.1 * jax.lax.pmean(jnp.tanh(x).mean(), "batch"), params)


params = jax_utils.replicate({"w": jnp.sin(jnp.arange(24.0)).reshape(6, 4), "b": jnp.array([0.1, 0.7, 1.3])})
params = step(params, np.arange(16.0, dtype=np.float32).reshape(8, 2) / 9)
weights = np.arange(1, 9, dtype=np.float32) / 36
RESULT = {
    "mean": jax.tree.map(lambda p: np.mean(np.asarray(p), axis=0), params),
    "weighted": jax.tree.map(lambda p: np.tensordot(weights, np.asarray(p), 1), params),
    "flat": np.asarray(params["w"]).mean(),
}
