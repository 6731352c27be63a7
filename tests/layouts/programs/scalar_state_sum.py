"""A replicated step counter is summed, divided and formatted."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

p_step = jax.pmap(lambda s: s + 1)
step = jax_utils.replicate(jnp.zeros((), jnp.int32))
for _ in range(3):
    step = p_step(step)
RESULT = {"sum": int(step.sum()), "text": f"{step}", "list": step.tolist(), "first": int(step[0]), "max": max(step.tolist())}
