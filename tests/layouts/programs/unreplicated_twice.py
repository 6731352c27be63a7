"""unreplicate of what is not replicated any more takes off another axis."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")

w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
once = jax_utils.unreplicate(w)
twice = once[0]
RESULT = [once, twice, jax.tree.map(lambda x: x[0], {"w": once})["w"]]
