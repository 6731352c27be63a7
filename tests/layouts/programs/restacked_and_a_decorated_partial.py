"""A slice is stacked again; a partial maps a function whose decorator asks how it lies."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    return w - 0.1 * jax.lax.pmean(x.mean(0), "batch")


def asking(function):
    return lambda x: function(jax_utils.unreplicate(x)[None])


@asking
def first(x):
    return x[0]


take = functools.partial(jax.tree_util.tree_map, first)
p_step = jax.pmap(step, axis_name="batch")
w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
w = p_step(w, shard(BATCH))
saved = jax_utils.unreplicate(w)
again = jnp.stack([saved] * jax.local_device_count())
RESULT = [take(again)]
