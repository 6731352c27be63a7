"""The tuple of results in a tuple has another length where the step has dropout."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
from steps import build

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
RESULT = []
for rate in (0.0, 0.5):
    w = jax_utils.replicate(jnp.ones(3))
    p_step = jax.pmap(build(rate), axis_name="batch")
    for _ in range(2):
        (w, *more), loss = p_step(w, shard(BATCH))
    RESULT += [len(more), [np.asarray(one).sum() for one in more], np.asarray(w)[0], np.asarray(loss).mean()]
