"""A module that is only imported replaces a function of another."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

import helpers
import patches

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x):
    return helpers.scale(w) - jax.lax.pmean(jnp.mean(x), "batch")


p_step = jax.pmap(step, axis_name="batch")
w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
w = p_step(w, shard(BATCH))
RESULT = [w[0], p_step(w, shard(BATCH))[3]]
