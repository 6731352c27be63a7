"""`state` is stacked, then its first slice, then a list of slices: one name, three values."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

p_step = jax.pmap(lambda s, x: s + jax.lax.pmean(x, "i"), axis_name="i")
state = jnp.arange(8.0)
state = jax_utils.replicate(state)
state = p_step(state, np.arange(8, dtype=np.float32))
whole = state.sum()
state = state[0]
head = state[0]
state = [state, state * 2]
RESULT = {"whole": whole, "head": head, "list": state[0]}
