"""Copies are changed for one device: a new array, and in place."""
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
    w = np.arange(3, dtype=np.float32)
    made = jnp.repeat(jnp.asarray(w)[None], N, axis=0)
    other = made.at[2].add(1.0)
    written = np.repeat(w[None], N, axis=0)
    again = np.tile(w, (N,) + (1,) * w.ndim)
    found = []
    for _ in range(2):
        total, rows = jax.pmap(norm, axis_name="batch")(made, shard(BATCH))
        found += [jax_utils.unreplicate(total), rows[2]]
        total, rows = jax.pmap(norm, axis_name="batch")(other, shard(BATCH))
        found += [jax_utils.unreplicate(total), rows[2]]
        total, rows = jax.pmap(norm, axis_name="batch")(written, shard(BATCH))
        found += [jax_utils.unreplicate(total), rows[2]]
        total, rows = jax.pmap(norm, axis_name="batch")(again, shard(BATCH))
        found += [jax_utils.unreplicate(total), rows[2]]
        written[2] += 5
        again[4, 1] = 7
    return found


RESULT = main()
