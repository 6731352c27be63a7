"""Shapes that only happen to be the number of devices, or have it in another place."""
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
    rows = BATCH.shape[0] // 2
    first, _ = p_scores(w, jnp.ones((rows, 2)), shard(BATCH))
    second, _ = p_scores(w, jnp.ones((2 * (N // 2), 2)), shard(BATCH))
    shape = (2, N)
    third, each = p_scores(w, jnp.ones(shape[::-1]), shard(BATCH))
    eye = jax.pmap(lambda x: x * 2)(jnp.ones((2, N)).T)
    return [jax_utils.unreplicate(x) for x in (first, second, third)] + [np.asarray(each).sum(), eye]


RESULT = main()
