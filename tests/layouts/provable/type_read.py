"""Host code prints the type of what is replicated, which lies on devices before and after."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(params, batch):
    return params - jax.lax.pmean(batch.mean(0), "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split -> replicated
params = jax_utils.replicate(jnp.ones(3))
kinds = [type(params).__name__]
params = p_step(params, shard(np.arange(96, dtype=np.float32).reshape(32, 3)))
kinds.append(type(params).__name__)
RESULT = {"kinds": kinds, "params": params[0]}
