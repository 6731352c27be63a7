"""A name holds a mapped function or something that no file of the program has, and is called with what is stacked."""
import operator
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

p_step = jax.pmap(lambda w: w + jax.lax.psum(w, "i"), axis_name="i")
w = jax_utils.replicate(jnp.arange(3.0))
kept = []
for i in range(4):
    chosen = p_step
    if i % 2:
        chosen = operator.attrgetter("shape")
    out = chosen(w)
    kept.append(np.asarray(out))
held = operator.itemgetter(0)
held = held if len(kept) < 3 else p_step
RESULT = {"kept": kept, "held": np.asarray(held(w)), "w": w[0]}
