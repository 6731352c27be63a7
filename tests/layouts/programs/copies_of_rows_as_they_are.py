"""A repeat of each row, and one of what has a row for each device already."""
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
    rows = jnp.arange(float(N * 2)).reshape(N, 2)
    found = []
    total, each = jax.pmap(norm, axis_name="batch")(jnp.repeat(rows, 1, axis=0), shard(BATCH))
    found += [jax_utils.unreplicate(total), each[5]]
    total, each = jax.pmap(norm, axis_name="batch")(jnp.repeat(rows[:1], N, axis=0), shard(BATCH))
    found += [jax_utils.unreplicate(total), each[5]]
    total, each = jax.pmap(norm, axis_name="batch")(jnp.repeat(rows[:2], N // 2, axis=0), shard(BATCH))
    found += [jax_utils.unreplicate(total), each[5]]
    first = jnp.repeat(rows[None], N, axis=0)[:, 1]
    total, each = p_norm(first, shard(BATCH))
    return [*found, jax_utils.unreplicate(total), each[5]]


RESULT = main()
