"""A list of pairs within pairs, as long as the loop that makes it."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
p_step = jax.pmap(lambda w, x: w + jax.lax.pmean(x.sum(0), "batch"), axis_name="batch")  # expect: replicated, split -> replicated
w = jax_utils.replicate(jnp.ones(3))
history = None
for number in range(8):
    w = p_step(w, shard(BATCH))
    history = (number, float(w[0][1]), history)
count = 0
while history is not None:
    *_, history = history
    count += 1
RESULT = [w[0], count]
