"""A named tuple in a tuple in a tuple, which host code copies with one field of its own."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
from states import Averages, step

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
p_step = jax.pmap(step, axis_name="batch")
w = jax_utils.replicate(jnp.ones(3))
averages = Averages(jax_utils.replicate(jnp.zeros(3)), jnp.zeros((jax.device_count(), 3)))
found = []
for _ in range(3):
    (w, (averages, loss)), rows = p_step(w, averages, shard(BATCH))
    averages = averages._replace(own=averages.own + np.arange(8.0, dtype=np.float32)[:, None])
    found += [np.asarray(loss).sum(), rows.sum()]
RESULT = [np.asarray(w)[0], averages.own, jax_utils.unreplicate(averages.shared), found]
