"""What is printed is part of what a program says."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(params):
    return jax.tree.map(lambda p: p * 2, params)


params = jax.pmap(step)(jax_utils.replicate({"w": jnp.ones((5, 3)), "b": jnp.zeros(3)}))
print("parameters:", sum(p.size for p in jax.tree.leaves(params)))
print(jax.tree.map(jnp.shape, params))
RESULT = jax_utils.unreplicate(params)
