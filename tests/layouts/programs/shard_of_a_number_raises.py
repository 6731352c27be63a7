"""shard of a tree with a number in it raises, for a number has no reshape."""
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

p_tree = jax.pmap(lambda w, b: step(w, b["x"]) * b["n"], axis_name="batch")
RESULT = p_tree(jax_utils.replicate(jnp.ones(3)), shard({"x": BATCH, "n": 8}))[0]
