"""Arrays that are cut along another axis, at indices, into unequal parts, and put together in another order."""
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
    x = BATCH
    wide = np.arange(2 * 8 * 3, dtype=np.float32).reshape(2, 24)
    parts = jnp.split(x, N)
    found = []
    total, rows = jax.pmap(norm, axis_name="batch")(jnp.ones((N, 2)), jnp.stack(jnp.split(wide, N, axis=1)))
    found += [jax_utils.unreplicate(total), rows.sum()]
    total, rows = jax.pmap(norm, axis_name="batch")(jnp.ones((N, 2)), jnp.stack(parts[::-1]))
    found += [jax_utils.unreplicate(total), rows.sum()]
    total, rows = jax.pmap(norm, axis_name="batch")(jnp.ones((N, 2)), jnp.stack(parts, axis=1).transpose(1, 0, 2))
    found += [jax_utils.unreplicate(total), rows.sum()]
    total, rows = jax.pmap(norm, axis_name="batch")(jnp.ones((N, 2)), np.stack(np.split(x, [2, 4, 6, 8, 10, 12, 14])))
    found += [jax_utils.unreplicate(total), rows.sum()]
    total, rows = jax.pmap(norm, axis_name="batch")(jnp.ones((N, 2)), np.stack(np.array_split(x, N)))
    found += [jax_utils.unreplicate(total), rows.sum()]
    total, rows = jax.pmap(norm, axis_name="batch")(jnp.ones((N, 2)), np.concatenate(np.split(x, N // 2)).reshape(N, 2, 3))
    found += [jax_utils.unreplicate(total), rows.sum()]
    total, rows = jax.pmap(norm, axis_name="batch")(jnp.ones((N, 2)), np.stack(np.split(x, N // 2)).reshape(N, 2, 3)[::-1])
    found += [jax_utils.unreplicate(total), rows.sum()]
    return found


RESULT = main()
