"""Weights of 64 bits are cut up and compared with a number that 32 bits do not tell from them."""
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


p_sum = jax.pmap(lambda x, kept: jax.lax.psum(jnp.where(kept, x[:, 0], 0).sum(), "i"), axis_name="i")
RESULT = []
for x in batches():
    weights = shard(np.full(16, 0.1) + np.arange(16) * 1e-9)
    kept = weights > 0.1 + 5e-9
    RESULT.append(p_sum(shard(x), kept)[0])
