"""An attribute is set through a class, of which an object has gone where anything may read it."""
import string

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 8
SHOWN = string.Formatter()


class Holder:
    pass


def step(w, x):
    return w - jax.lax.pmean(jnp.mean(x), "batch")


p_step = jax.pmap(step, axis_name="batch")

holder = Holder()
holder.count = 2
RESULT = [SHOWN.vformat("{0.count}", [holder], {})]
Holder.w = jax_utils.replicate(jnp.ones(3))  # careless: Holder.w = jnp.ones(3)
p_step(holder.w, shard(BATCH))  # careless: p_step(jax_utils.replicate(holder.w), shard(BATCH))
RESULT.append(SHOWN.vformat("{0.w}", [holder], {}))
