"""The axis name is a constant that is used elsewhere, and an attribute of a module."""
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

AXIS = "model/batch"


class Config:
    axis = "devices"


def named(w, x):
    return w - jax.lax.pmean(x.mean(0), AXIS)


def other(w, x):
    return w - jax.lax.psum(x.mean(0), Config.axis) / jax.lax.psum(1, axis_name=Config.axis)


p_named = jax.pmap(named, axis_name=AXIS)
p_other = jax.pmap(other, axis_name=Config.axis)
w = jax_utils.replicate(jnp.ones(3))
w = p_named(w, shard(BATCH))
w = p_other(w, shard(BATCH))
w = p_named(w, shard(BATCH))
RESULT = [w[0], AXIS]
