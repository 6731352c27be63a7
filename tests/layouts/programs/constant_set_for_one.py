"""An array of zeros is changed for one device by .at[].set, or added to."""
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
    mask = jnp.zeros((N, 2))
    one = mask.at[2].set(1.0)
    other = mask + jnp.arange(float(N))[:, None]
    none, _ = p_scores(w, mask, shard(BATCH))
    first, _ = p_scores(w, one, shard(BATCH))
    second, each = p_scores(w, other, shard(BATCH))
    return [jax_utils.unreplicate(x) for x in (none, first, second)] + [np.asarray(each).sum()]


RESULT = main()
