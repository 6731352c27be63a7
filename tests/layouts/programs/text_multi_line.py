"""Calls over several lines with comments, backslashes and nested parentheses."""
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

w = jax_utils.replicate(
    # one copy for each device
    jnp.ones(  # of three
        3
    ),
)
w = p_step(  # a step
    w,  # parameters
    shard(BATCH),  # examples
)
v \
    = p_step(w, shard(
        BATCH + 1))
RESULT = {
    "w": jax_utils.unreplicate(  # the first
        w
    ),
    "v": (v
          [0]),  # the first, too
}
