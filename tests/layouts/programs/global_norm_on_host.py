"""optax's norm over a replicated tree on the host counts every parameter eight times."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils


def step(params, x):
    return jax.tree.map(lambda p: p - jax.lax.pmean(x, "i"), params)


params = jax_utils.replicate({"w": jnp.arange(6.0).reshape(2, 3), "b": jnp.ones(3)})
params = jax.pmap(step, axis_name="i")(params, np.sin(np.arange(8, dtype=np.float32)))
RESULT = {"norm": optax.global_norm(params), "count": sum(p.size for p in jax.tree_util.tree_leaves(params))}
