"""A mask of ones is written into before it is given to the map: the last rows are padding."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
N = jax.local_device_count()


def scores(w, mask, x):
    return jax.lax.psum(jnp.sum(mask * (x @ w)), "batch"), mask * (x @ w)


p_scores = jax.pmap(scores, axis_name="batch")


def main():
    w = jax_utils.replicate(jnp.ones(3))
    found = []
    for rows in (16, 13):
        mask = np.ones((N, 16 // N), dtype=np.float32)
        if rows < 16:
            mask.reshape(-1)[rows:] = 0
        total, each = p_scores(w, mask, shard(BATCH))
        found += [jax_utils.unreplicate(total), np.asarray(each).sum()]
    return found


RESULT = main()
