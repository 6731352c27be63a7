"""One array is read from the first device, another stays stacked: both are evaluated together."""
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
w = jax_utils.replicate(jnp.ones(3))
RESULT = []

noise = jax.pmap(lambda w: w + jax.lax.axis_index("batch"), axis_name="batch")
evaluate = jax.jit(lambda w, b: jnp.sum(w * b))
for _ in range(2):
    w = p_step(w, shard(BATCH))
    kept = noise(w)
    RESULT.append(evaluate(jax_utils.unreplicate(w), jax_utils.unreplicate(kept)))
