"""Copies whose shape is that of another array, which has more axes."""
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
    w, other = jnp.arange(3.0), jnp.ones((2, 3))
    found = []
    total, rows = jax.pmap(norm, axis_name="batch")(jnp.broadcast_to(w[None], (N, *other.shape)), shard(BATCH))
    found += [jax_utils.unreplicate(total), rows[3], rows.shape[1:]]
    total, rows = jax.pmap(norm, axis_name="batch")(jnp.broadcast_to(w[None], (N,) + other.shape), shard(BATCH))
    found += [jax_utils.unreplicate(total), rows[3], rows.shape[1:]]
    total, rows = jax.pmap(norm, axis_name="batch")(jnp.tile(w, (N,) + (1,) * other.ndim), shard(BATCH))
    found += [jax_utils.unreplicate(total), rows[3], rows.shape[1:]]
    total, rows = jax.pmap(norm, axis_name="batch")(jnp.tile(w, (N,) + (2,) * w.ndim), shard(BATCH))
    found += [jax_utils.unreplicate(total), rows[3], rows.shape[1:]]
    total, rows = jax.pmap(norm, axis_name="batch")(jnp.broadcast_to(w[None, None], (N, 2) + w.shape), shard(BATCH))
    found += [jax_utils.unreplicate(total), rows[3], rows.shape[1:]]
    return found


RESULT = [np.asarray(x) for x in jax.tree.leaves(main())]
