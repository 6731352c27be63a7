"""Where a file imports a star, its own variables are no others': a view of a buffer that the next statement takes."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
from settings import *


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - TARGET) ** 2))(w)
    return w - RATE * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated
w = jax_utils.replicate(jnp.ones(3))
for i in range(3):
    inputs = buffer_of(i)
    inputs = shard(inputs)
    w = p_step(w, inputs)
RESULT = np.asarray(jax_utils.unreplicate(w))
