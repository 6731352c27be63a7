import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def reduce(grad):
    return jax.lax.pmean(grad, "batch")


def step(w, x):
    return w - 0.125 * reduce(jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w))


p_step = jax.pmap(step, axis_name="batch")


def fit():
    w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
    return np.asarray(jnp.mean(p_step(w, shard(BATCH)), 0))


state = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
