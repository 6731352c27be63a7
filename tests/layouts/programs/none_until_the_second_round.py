"""An argument is None in the first round of a loop, and a number of each device from then on."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
UNLIKE = np.arange(1, 9, dtype=np.float32)


def step(w, scale, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    grad = grad if scale is None else grad * scale
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, axis_name="batch")
w = jax_utils.replicate(jnp.ones(3))
scale = None
for i in range(3):
    w = p_step(w, scale, shard(BATCH + i))
    scale = UNLIKE
RESULT = [np.asarray(w[0])]
