"""A branch on a shape."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

initial = {"w": jnp.ones((8, 3))}
params = jax_utils.replicate(initial)
params = jax.pmap(lambda p: jax.tree.map(lambda x: x + 1, p))(params)
if params["w"].shape == initial["w"].shape or params["w"].ndim < 3:
    final = params
else:
    final = jax_utils.unreplicate(params)
RESULT = final
