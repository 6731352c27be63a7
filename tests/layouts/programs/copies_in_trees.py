"""Copies of the leaves of trees, some of which have an axis of their own in front."""
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
    tree = {"a": jnp.arange(3.0), "b": jnp.ones((2, 2)) * 3}
    found = []
    copied = jax.tree_util.tree_map(lambda x: jnp.repeat(x[None], N, axis=0), tree)
    kept = jax.tree_util.tree_map(lambda x: jnp.repeat(x[None] if x.ndim == 1 else x, N, axis=0)[:N], tree)
    for name in ('a', 'b'):
        total, rows = jax.pmap(norm, axis_name="batch")(copied[name], shard(BATCH))
        found += [jax_utils.unreplicate(total), rows[1]]
    for name in ('a', 'b'):
        total, rows = jax.pmap(norm, axis_name="batch")(kept[name], shard(BATCH))
        found += [jax_utils.unreplicate(total), rows[1]]
    return found


RESULT = main()
