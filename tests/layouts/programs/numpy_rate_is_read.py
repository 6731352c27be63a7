"""A rate of 64 bits is copied for each device by NumPy, and what the host reads of it keeps 64 bits."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

N = jax.local_device_count()


def batches():
    for i in range(3):
        yield np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)


def step(w, x, rate):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - rate * jax.lax.pmean(grad, "i"), jax.lax.pmean(loss, "i")


p_step = jax.pmap(step, axis_name="i")
w = jax_utils.replicate(jnp.ones(3))
rate = np.stack([np.float64(0.1)] * N)
RESULT = []
for x in batches():
    w, loss = p_step(w, shard(x), rate)
    RESULT += [loss[0], float(rate[0]), rate[0] * 3]
