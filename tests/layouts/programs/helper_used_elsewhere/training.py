import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def replicate(tree):
    return jax.tree.map(lambda x: jnp.stack([x] * jax.local_device_count()), tree)


def first(tree):
    return jax.tree.map(lambda x: x[0], tree)


def step(p, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(p["w"])
    return {"w": p["w"] - 0.125 * jax.lax.pmean(grad, "batch")}


p_step = jax.pmap(step, axis_name="batch")


def train():
    return first(p_step(replicate({"w": jnp.ones(3)}), shard(BATCH)))
