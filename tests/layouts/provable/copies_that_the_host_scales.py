"""Copies of parameters that the host scales, for all devices at once."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x):
    return w - 0.1 * jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w), "batch")


def evaluate(w, x):
    return jax.lax.pmean(jnp.mean(x @ w), "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated
p_evaluate = jax.pmap(evaluate, axis_name="batch")  # expect: replicated, split -> replicated
w = jax_utils.replicate(jnp.ones(3))
mean = w * 1.0
for i in range(3):
    w = p_step(w, shard(BATCH + i))
    mean = 0.9 * mean + 0.1
error = 1 - p_evaluate(mean, shard(BATCH))
RESULT = {"w": w[0], "mean": mean[0], "error": float(error[0]), "half": (mean / 2)[0] / (w + 1)[0], "square": (w * w)[0]}
