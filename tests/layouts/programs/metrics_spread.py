"""The spread over devices of a number that only looks as if it were the same on each."""
import jax
import jax.numpy as jnp
import numpy as np


def norms(x):
    total = jax.lax.psum(jnp.sum(x**2), "batch")
    return jnp.sqrt(total), jnp.sqrt(total / jax.lax.psum(1, "batch")) + 0.0 * x[0], jnp.sum(x) / total


p_norms = jax.pmap(norms, axis_name="batch")  # careless: p_norms = sharded(norms, P("batch"), P())
x = np.sin(np.arange(24, dtype=np.float32)).reshape(8, 3)  # careless: x = np.sin(np.arange(24, dtype=np.float32))
whole, mean, share = p_norms(x)
RESULT = {"whole": whole.std(), "mean": mean.std(), "share": np.asarray(share).std()}
