"""All parts of a tuple in a tuple are gone through, and summed over devices."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
from steps import step

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
p_step = jax.pmap(step, axis_name="batch")
w = jax_utils.replicate(jnp.ones(3))
totals = []
for _ in range(3):
    w, metrics = p_step(w, shard(BATCH))
    totals.append(sum(np.asarray(part).sum() for part in metrics))
    totals.append([part.shape for part in metrics])
out = p_step(w, shard(BATCH))
flat = sum((out[1],), ())
RESULT = [totals, np.asarray(w)[0], len(out[1]), len(flat), flat[1]]
