"""A helper that looks at its caller's variables."""
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

import inspect


def total_of(name):
    frame = inspect.currentframe().f_back
    return np.asarray(frame.f_locals[name]).sum()


def train():
    w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
    return total_of("w"), w[0]


RESULT = train()
