"""Rows that cannot be cut into as many parts raise, and so do too few."""
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
    found = []
    for rows in (16, 12, 8, 4):
        try:
            total, _ = p_norm(jnp.ones((N, 2)), jnp.stack(jnp.split(BATCH[:rows], N)))
            found.append(jax_utils.unreplicate(total))
        except Exception:
            found.append("raised")
    return found


RESULT = main()
