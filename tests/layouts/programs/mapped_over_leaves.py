"""A mapped function is applied to each leaf by tree.map."""
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

p_mean = jax.pmap(lambda x: jax.lax.pmean(x, "i"), axis_name="i")
stats = {"mean": jnp.arange(8.0), "var": jnp.arange(16.0).reshape(8, 2)}
synced = jax.tree.map(p_mean, stats)
params = jax.tree.map(p_mean, jax_utils.replicate({"w": jnp.ones(3)}))
RESULT = {"synced": jax.tree.map(lambda x: x.sum(0), synced), "w": params["w"].shape}
