"""The buffer is written by a function that it is given to."""
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

def fill(into, i):
    into[...] = BATCH * (i + 1)


buffer = np.zeros_like(BATCH)
batch = shard(buffer)
w = jax_utils.replicate(jnp.ones(3))
for i in range(2):
    fill(buffer, i)
    w = p_step(w, batch)
    jax.block_until_ready(w)
RESULT = w[0]
