"""A donated tuple: what the caller keeps of it is a copy, the counts are each device's own."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

n = jax.local_device_count()
start = {"w": jnp.arange(3, dtype=jnp.float32)}
state, counts = jax_utils.replicate(start), jnp.arange(n)


def step(carry, x):
    state, count = carry
    moved = jax.lax.pmean(x.mean() * (count + 1), "i")
    return ({"w": state["w"] + moved}, count + (x.sum() > 0)), moved


p_step = jax.pmap(step, axis_name="i", donate_argnums=0)
carry, seen = (state, counts), []
for i in range(3):
    carry, moved = p_step(carry, np.cos(np.arange(n * 2, dtype=np.float32) * (i + 1)).reshape(n, 2))
    seen.append(jax_utils.unreplicate(moved))
RESULT = [jax_utils.unreplicate(carry[0]), np.asarray(carry[1]), seen, start]
