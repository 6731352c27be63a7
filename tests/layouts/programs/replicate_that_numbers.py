"""A helper called replicate whose copies differ."""
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

def replicate(tree):
    return jax.tree.map(lambda x: jnp.stack([x + i for i in range(jax.local_device_count())]), tree)


def perturbed(tree):
    noise = np.random.RandomState(0).randn(jax.local_device_count(), 3).astype(np.float32)
    return jax_utils.replicate(tree) + noise


RESULT = [p_step(replicate(jnp.ones(3)), shard(BATCH))[2], p_step(perturbed(jnp.ones(3)), shard(BATCH))[0]]
