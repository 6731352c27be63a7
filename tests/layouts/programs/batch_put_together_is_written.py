"""The rows of a batch that was cut up are a view of it: what is written into them reaches the next step."""
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
    batch = shard(x)
    w, loss = p_step(w, batch, 0.1)
    rows = batch.reshape(-1, 3)
    rows[0] = 0
    RESULT += [loss[0], p_step(w, batch, 0.1)[1][0]]
