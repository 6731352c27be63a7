"""A mapped function with arguments in another order in two places."""
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

p_two = jax.pmap(lambda a, b: a + jax.lax.pmean(b, "i"), axis_name="i")
w = jax_utils.replicate(jnp.ones(3))
x = jnp.arange(24.0).reshape(8, 3)
RESULT = [p_two(w, x)[0], p_two(x, w)]
