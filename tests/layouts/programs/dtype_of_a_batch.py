"""The dtype of a batch of 64 bits is that of what the host adds up."""
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


p_step = jax.pmap(step, axis_name="i", in_axes=(0, 0, None))
w = jax_utils.replicate(jnp.ones(3))
RESULT = []
for x in batches():
    batch = shard(x.astype(np.float64) / 3)
    w, loss = p_step(w, batch, 0.1)
    RESULT += [loss[0], np.ones(3, batch.dtype) / 3]
