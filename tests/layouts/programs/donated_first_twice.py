"""The same replicated array to two donating calls through a list of copies."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

p_step = jax.pmap(lambda w, s: w + jax.lax.psum(s, "batch"), axis_name="batch", donate_argnums=(0,))
base = jnp.arange(4.0)
members = [jax_utils.replicate(base) for _ in range(3)]
seeds = np.arange(24, dtype=np.float32).reshape(3, 8)
members = [p_step(member, seed) for member, seed in zip(members, seeds)]
RESULT = {"members": [np.asarray(m)[0] for m in members], "base": base}
