"""As many copies as something else says."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
N = jax.local_device_count()


def norm(w, x):
    return jax.lax.psum(jnp.sum(w * jnp.arange(w.size).reshape(w.shape)) + x.sum() * x[0, 0], "batch"), w


p_norm = jax.pmap(norm, axis_name="batch")


def main():
    w = jnp.arange(3.0)
    found = []
    for count in (len(BATCH) // 2, 2 * (N // 2)):
        total, rows = p_norm(jnp.repeat(w[None], count, axis=0), shard(BATCH))
        found += [jax_utils.unreplicate(total), rows[1]]
    half = jnp.repeat(w[None], N // 2, axis=0)
    both = jnp.concatenate([half, half + 1])
    total, rows = p_norm(both, shard(BATCH))
    return [*found, jax_utils.unreplicate(total), rows[6]]


RESULT = main()
