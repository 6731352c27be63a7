"""A body that counts, walks and indexes the tuple that it is given, and gives it on whole."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

n = jax.local_device_count()


def inner(carry):
    return carry[1]["w"].sum() + carry[0][0]


def step(carry, x):
    scale = len(carry)
    for part in jax.tree.leaves(carry):
        scale += part.size
    found = inner(carry) * scale + carry[0].sum() * x
    return jax.lax.pmean(found, "i"), jax.tree.map(lambda v: v * 2, carry)[0]


p_step = jax.pmap(step, axis_name="i")
own = np.arange(n * 3, dtype=np.float32).reshape(n, 3)
state = jax_utils.replicate({"w": jnp.array([1.0, 2.0]), "b": jnp.ones(3)})
x = np.linspace(0, 1, n, dtype=np.float32)
mean, doubled = p_step((own, state), x)
mean2, _ = p_step((doubled, state), x)
RESULT = [jax_utils.unreplicate(mean), np.asarray(doubled), jax_utils.unreplicate(mean2)]
