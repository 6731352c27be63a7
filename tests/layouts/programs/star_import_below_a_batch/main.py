"""A star import below puts its own array under a name of this file, and the other file writes into this one's."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(w, x):
    return w - 0.125 * jax.lax.pmean(x.mean(0), "batch")


p_step = jax.pmap(step, axis_name="batch")
w = jax_utils.replicate(jnp.ones(3))
buffer = np.arange(48, dtype=np.float32).reshape(16, 3)
inputs = shard(buffer)
w = p_step(w, inputs)
kept = inputs.sum()
from others import *

v = p_step(w, inputs)
RESULT = [np.asarray(one) for one in (w[0], v[0], kept, inputs.sum())]
