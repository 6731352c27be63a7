"""A parameter that is called shard, and is another function."""
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

def train(w, shard, unreplicate):
    return unreplicate(p_step(w, shard(BATCH)))


def reversed_shard(x):
    return x[::-1].reshape((jax.local_device_count(), -1, 3))[:, :1]


RESULT = train(jax_utils.replicate(jnp.ones(3)), reversed_shard, lambda w: np.asarray(w).sum())
