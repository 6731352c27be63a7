"""A mask is ones in one branch and each device's own in the other."""
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


def make(kind):
    mask = jnp.ones((N, 2))
    if kind == "ramp":
        mask = jnp.arange(float(N * 2)).reshape(N, 2)
    return mask


def main():
    w = jax_utils.replicate(jnp.ones(3))
    found = []
    for kind in ("ones", "ramp"):
        total, each = p_scores(w, make(kind), shard(BATCH))
        found += [jax_utils.unreplicate(total), np.asarray(each).sum()]
    return found


RESULT = main()
