"""A flat array becomes rows of three on each device."""
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

n = jax.local_device_count()
p_mean = jax.pmap(lambda x: (jax.lax.pmean(x.mean(0), "i"), jnp.array(x.shape)), axis_name="i")
mean, shapes = p_mean(BATCH.reshape(-1).reshape(n, -1, 3))
again, _ = p_mean(BATCH.reshape((n, 2, 3)))
RESULT = {"mean": mean[0], "shapes": shapes, "again": again[0]}
