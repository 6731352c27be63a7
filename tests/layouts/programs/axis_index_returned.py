"""axis_index differs by definition, however much of the output is reduced."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(w, x):
    rank = jax.lax.axis_index("batch")
    return w + jax.lax.psum(x, "batch"), {"rank": rank, "mine": jnp.where(rank == 0, 1.0, 2.0)}


p_step = jax.pmap(step, axis_name="batch")  # careless: p_step = sharded(step, (P(), P("batch")), P())
w = jax_utils.replicate(jnp.zeros(()))  # careless: w = jnp.zeros((1,))
w, info = p_step(w, np.arange(8.0))
RESULT = {"w": w[0], "ranks": np.asarray(info["rank"]).tolist(), "mine": info["mine"]}
