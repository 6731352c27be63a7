"""How many devices there are shows in an array of ones: by its sum, its length, its shape and its slices."""
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
    mask = jnp.ones((N, 2))
    total, each = p_scores(w, mask, shard(BATCH))
    counts = [mask.sum(), len(mask), mask.shape, mask.size, sum(row.sum() for row in mask), mask[1:].sum()]
    return [jax_utils.unreplicate(total), np.asarray(each).sum(), *map(float, [c for c in counts if not isinstance(c, tuple)])]


RESULT = main()
