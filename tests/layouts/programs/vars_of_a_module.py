"""vars() of a module that is found by name holds what is stacked."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)

import inspect


def step(w, x):
    return w - 0.25 * jax.lax.pmean(jnp.mean(x), "batch")


p_step = jax.pmap(step, axis_name="batch")
w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
here = inspect.getmodule(step)
RESULT = [np.asarray(vars(here)["w"]).sum(), np.asarray(here.w).shape]
