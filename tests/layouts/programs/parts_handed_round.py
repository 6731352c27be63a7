"""A step gives its tuple back with the parts exchanged, so that after two steps each is as it was."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(pair, x):
    state, total = pair
    mean = jax.lax.pmean(x.mean(), "i")
    return (total + x.sum(), state * 0.5 + mean)


p_step = jax.pmap(step, axis_name="i")
pair = (jax_utils.replicate(jnp.ones(())), jax_utils.replicate(jnp.zeros(())))
seen = []
for i in range(4):
    x = np.sin(np.arange(jax.local_device_count() * 5, dtype=np.float32) + i).reshape(-1, 5)
    pair = p_step(pair, x)
    seen.append([np.asarray(one) for one in pair])
RESULT = seen
