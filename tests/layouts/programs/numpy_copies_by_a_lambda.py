"""Parameters are copied by NumPy in a lambda, and one copy is written before the training."""
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
params = jax.tree.map(lambda x: np.stack([x] * N), {"w": np.ones(3, np.float32)})
first = jax.tree.map(lambda x: x[0], params)
first["w"][0] = 3
RESULT = [first["w"] / np.float64(3)]
for x in batches():
    params["w"], loss = p_step(params["w"], shard(x), 0.1)
    RESULT.append(loss[0])
RESULT.append(first["w"])
