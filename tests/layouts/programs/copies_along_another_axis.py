"""Copies along another axis, or of single numbers, and rows that only follow one another."""
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
    w = jnp.arange(8.0) * jnp.arange(8.0)
    found = []
    total, rows = jax.pmap(norm, axis_name="batch")(jnp.repeat(w[None], N, axis=1).reshape(N, N), shard(BATCH))
    found += [jax_utils.unreplicate(total), rows[3]]
    total, rows = jax.pmap(norm, axis_name="batch")(jnp.repeat(w[:, None], N, axis=1), shard(BATCH))
    found += [jax_utils.unreplicate(total), rows[3]]
    total, rows = jax.pmap(norm, axis_name="batch")(jnp.repeat(w[None], N).reshape(N, -1), shard(BATCH))
    found += [jax_utils.unreplicate(total), rows[3]]
    total, rows = jax.pmap(norm, axis_name="batch")(jnp.repeat(w[..., None], N, axis=-1), shard(BATCH))
    found += [jax_utils.unreplicate(total), rows[3]]
    total, rows = jax.pmap(norm, axis_name="batch")(jnp.repeat(w, N, axis=0).reshape(N, N), shard(BATCH))
    found += [jax_utils.unreplicate(total), rows[3]]
    total, rows = jax.pmap(norm, axis_name="batch")(jnp.tile(w, (N, 1)).T, shard(BATCH))
    found += [jax_utils.unreplicate(total), rows[3]]
    total, rows = jax.pmap(norm, axis_name="batch")(jnp.tile(w[:, None], (1, N)), shard(BATCH))
    found += [jax_utils.unreplicate(total), rows[3]]
    return found


RESULT = main()
