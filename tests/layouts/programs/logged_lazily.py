"""A logger formats a stacked array."""
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

import io
import logging

stream = io.StringIO()
log = logging.getLogger("soundness")
log.handlers = [logging.StreamHandler(stream)]
log.propagate = False
w = p_step(jax_utils.replicate(jnp.ones(3)), shard(BATCH))
log.warning("weights %s", w.shape)
log.warning("%(w)s", {"w": np.round(np.asarray(w), 3).shape})
RESULT = [stream.getvalue(), w[0]]
