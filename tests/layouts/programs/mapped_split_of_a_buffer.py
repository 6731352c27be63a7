"""flax's `shard`, mapped over a buffer that the program fills again before it is used."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils

BUFFER = np.zeros((16, 3), np.float32)


def batches():
    for i in range(3):
        BUFFER[:] = i
        yield BUFFER


p_step = jax.pmap(lambda w, x: w + jax.lax.pmean(jnp.sum(x), "batch"), axis_name="batch")
w = jax_utils.replicate(jnp.zeros(()))
for x in map(common_utils.shard, batches()):
    BUFFER[:] = 7
    w = p_step(w, x)
RESULT = jax_utils.unreplicate(w)
