"""Shapes are read in a function that also runs under the map, and one that host code gives scalars for each device."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def width(x):
    return x.shape[-1]


def step(params, batch):
    return params - jax.lax.pmean(batch.sum(), "batch") / width(batch), jax.lax.pmean(batch.sum(), "batch")


p_step = jax.pmap(step, axis_name="batch")
params = jax_utils.replicate(jnp.zeros(()))
batch = shard(np.arange(96, dtype=np.float32).reshape(32, 3))
params, total = p_step(params, batch)
RESULT = {"width": width(batch), "of": width(params), "last": total.shape[-1], "dims": total.ndim, "n": params.size}
