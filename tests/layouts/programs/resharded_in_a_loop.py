"""Each epoch starts from unreplicated parameters that are changed on the host and replicated anew."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(w, x):
    return w - 0.1 * jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w), "batch")


p_step = jax.pmap(step, axis_name="batch")
w = jnp.zeros(3)
for epoch in range(2):
    w = jax_utils.replicate(w)
    for i in range(2):
        w = p_step(w, shard(np.sin(np.arange(48, dtype=np.float32) + epoch * 2 + i).reshape(16, 3)))
    w = jax_utils.unreplicate(w)
    w = w.at[0].set(0.5)
    w = w / jnp.linalg.norm(w)
RESULT = w
