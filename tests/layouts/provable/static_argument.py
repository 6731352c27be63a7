"""A static argument among the mapped ones."""
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


@functools.partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=(2,))  # expect: replicated, split, static -> replicated
def step(w, x, power):
    grad = jax.grad(lambda w: jnp.mean(jnp.abs(x @ w - 1) ** power))(w)
    return w - 0.1 * jax.lax.pmean(grad, "batch")


w = jax_utils.replicate(jnp.zeros(3))
for i in range(3):
    w = step(w, shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)), 2 + i % 2)
RESULT = w[0]
