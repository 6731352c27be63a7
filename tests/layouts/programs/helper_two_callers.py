"""One helper takes the first of what it gets: of stacked arrays here, of a list of networks there."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def first(tree):
    return jax.tree.map(lambda x: x[0], tree)


def step(params, x):
    return jax.tree.map(lambda p: p - jax.lax.pmean(x.mean(), "batch"), params)


p_step = jax.pmap(step, axis_name="batch")  # careless: p_step = sharded(step, (P(), P("batch")), P())
params = jax_utils.replicate({"w": jnp.arange(6.0).reshape(2, 3)})  # careless: params = {"w": jnp.arange(6.0).reshape(2, 3)}
params = p_step(params, np.sin(np.arange(16, dtype=np.float32)).reshape(8, 2))
ensemble = {"w": jnp.arange(12.0).reshape(4, 3)}
RESULT = {"trained": first(params), "member": first(ensemble)}
