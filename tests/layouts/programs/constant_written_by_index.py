"""An array of zeros is filled for one device."""
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
    mask = np.zeros((N, 2), dtype=np.float32)
    mask[3] = 1
    total, each = p_scores(w, mask, shard(BATCH))
    mask[1, 0] = 2
    again, _ = p_scores(w, mask, shard(BATCH))
    return [jax_utils.unreplicate(total), jax_utils.unreplicate(again), np.asarray(each).sum()]


RESULT = main()
