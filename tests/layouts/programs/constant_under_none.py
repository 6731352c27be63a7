"""The same zeros are mapped by one map and given whole to another."""
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


def whole(mask, x):
    return jax.lax.psum(jnp.sum(mask[: x.shape[0]].sum() * x), "batch"), mask.shape[0]


p_whole = jax.pmap(whole, axis_name="batch", in_axes=(None, 0))


def main():
    w = jax_utils.replicate(jnp.ones(3))
    mask = jnp.full((N, 2), 0.5)
    total, each = p_scores(w, mask, shard(BATCH))
    other, rows = p_whole(mask, shard(BATCH))
    return [jax_utils.unreplicate(total), np.asarray(each).sum(), np.asarray(other).sum(), np.asarray(rows)]


RESULT = main()
