"""An array of ones is the output of functions of numpy's."""
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


def fill(into, values):
    np.copyto(into, values)
    return into


def main():
    w = jax_utils.replicate(jnp.ones(3))
    mask = np.ones((N, 2), dtype=np.float32)
    other = np.ones((N, 2), dtype=np.float32)
    np.multiply(mask, np.arange(N, dtype=np.float32)[:, None], out=mask)
    fill(other, mask * 2)
    first, _ = p_scores(w, mask, shard(BATCH))
    second, each = p_scores(w, other, shard(BATCH))
    return [jax_utils.unreplicate(first), jax_utils.unreplicate(second), np.asarray(each).sum()]


RESULT = main()
