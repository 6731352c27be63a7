"""A map is given None in sight, and a number of each device by a function that it is given to."""

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
def tried(function, *more):
    return [function(*given) for given in more]


w = p_step(w, None, shard(BATCH))
RESULT = [np.asarray(one[0]) for one in tried(p_step, (w, UNLIKE, shard(BATCH)), (w, None, shard(BATCH)))]
