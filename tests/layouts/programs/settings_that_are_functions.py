"""What is set beside JAX's settings is a function: the mean of all devices gives each device's own."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
mean = jax.lax.pmean


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.config.reduce(grad, "batch"), jax.lax.pmean(x.sum(), "batch")


p_step = jax.pmap(step, axis_name="batch")


def main():
    jax.config.reduce = mean
    w = jax_utils.replicate(jnp.ones(3))
    w, _ = p_step(w, shard(BATCH))
    jax.config.reduce = lambda x, name: x
    jax.lax.pmean = lambda x, name: x
    w, total = jax.pmap(lambda w, x: step(w, x), axis_name="batch")(w, shard(BATCH))
    del jax.config.reduce
    jax.lax.pmean = mean
    return w, total


RESULT = [np.asarray(x) for x in main()]
