"""An attribute is set in the body of a class, of which an object has gone where anything may read it."""
import string

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 8
SHOWN = string.Formatter()


def step(w, x):
    return w - jax.lax.pmean(jnp.mean(x), "batch")


p_step = jax.pmap(step, axis_name="batch")

def start():
    return jax_utils.replicate(jnp.ones(3))  # careless: return jnp.ones(3)


class Holder:
    w = start()


holder = Holder()
p_step(holder.w, shard(BATCH))  # careless: p_step(jax_utils.replicate(holder.w), shard(BATCH))
RESULT = [SHOWN.vformat("{0.w}", [holder], {})]
