"""Keywords in another order than that of the parameters, and in another one at each call."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x, b, *, a):
    grad = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w), "batch")
    return w - a * grad + 2 * b, (x * a - b).sum()


p_step = jax.pmap(step, axis_name="batch")

w = jax_utils.replicate(jnp.ones(3))
a, b = jnp.arange(8.0), jax_utils.replicate(0.5)
first, one = p_step(w, shard(BATCH), a=a, b=b)
second, two = p_step(w, shard(BATCH), b=b, a=a)
RESULT = [first, one, second, two]
