"""reshape(-1) and reshape(-1, 2) merge more than the first two axes."""
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

p_square = jax.pmap(lambda w, x: x * w)
out = p_square(jax_utils.replicate(jnp.arange(3.0)), shard(BATCH))
out4 = p_square(jax_utils.replicate(jnp.ones(4)), shard(np.arange(64, dtype=np.float32).reshape(16, 4)))
RESULT = {"flat": out.reshape(-1), "pairs": out4.reshape(-1, 2), "rows": out4.reshape((-1,) + out4.shape[2:])}
